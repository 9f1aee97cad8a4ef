// gRPC's messages about failed connections, in words for people. Pure.
#pragma once

#include <string>

namespace muster {

// True if a server answered that does not speak our protocol, such as a web server or an ssh daemon. (By gRPC 1.51's
// words; a server that sends nothing, or only closes, may as well be a scheduler in trouble.)
bool IsAnotherServer(const std::string& grpc_message);

// Returns "Connection refused" instead of gRPC's long message.
std::string ConnectionErrorInWords(const std::string& grpc_message);

// The same for a plain-text connection on which nothing ever came: a server that only closes it may speak TLS.
std::string PlainConnectionErrorInWords(const std::string& grpc_message);

// True if the other end closed the connection after accepting it.
bool IsClosed(const std::string& grpc_message);

// The number of plain-text connections that the scheduler closes in a row, without any answer, before PlainCutsInWords
// is reported.
inline constexpr int kCutsBeforeHint = 5;
std::string PlainCutsInWords();

}  // namespace muster
