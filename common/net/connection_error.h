// Turns gRPC's messages about failed connections into words for people. Pure.
#pragma once

#include <string>

namespace muster {

// True if gRPC's message says that another kind of server answered, such as a web server or an ssh daemon. (The words
// are those of gRPC 1.51.) False for a server that sends nothing or only closes: it may be a scheduler in trouble.
bool IsAnotherServer(const std::string& grpc_message);

// Returns a short text such as "Connection refused" in place of gRPC's long message.
std::string ConnectionErrorInWords(const std::string& grpc_message);

// As above, for a plain-text connection on which no byte ever came. Adds a hint at TLS if the server only closed it.
std::string PlainConnectionErrorInWords(const std::string& grpc_message);

// True if the other end closed the connection after accepting it.
bool IsClosed(const std::string& grpc_message);

// After this many plain-text connections in a row that the scheduler closed without an answer, callers report
// PlainCutsInWords.
inline constexpr int kCutsBeforeHint = 5;
std::string PlainCutsInWords();

}  // namespace muster
