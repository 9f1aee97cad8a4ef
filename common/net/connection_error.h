// What gRPC says of a connection that failed, in a person's words. Pure.
#pragma once

#include <string>

namespace muster {

// Whether something answered that does not speak our protocol: a web server, an ssh daemon. (gRPC 1.51's words; one
// that says nothing, or only closes, may as well be a scheduler in trouble.)
bool IsAnotherServer(const std::string& grpc_message);

// "Connection refused" instead of gRPC's account of it.
std::string ConnectionErrorInWords(const std::string& grpc_message);

// The same of a plain-text connection over which nothing was ever heard: what only closes may speak TLS.
std::string PlainConnectionErrorInWords(const std::string& grpc_message);

// Whether the other end closed the connection, after it had taken it.
bool IsClosed(const std::string& grpc_message);

// What is said of the scheduler that closed so many plain-text connections in a row before it answered anything.
inline constexpr int kTellingCuts = 5;
std::string PlainCutsInWords();

}  // namespace muster
