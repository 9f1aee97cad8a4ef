#include "common/net/connection_error.h"

#include "absl/strings/match.h"

namespace muster {

constexpr char kClosed[] = "the connection was closed";

bool IsAnotherServer(const std::string& grpc_message) {
  return absl::StrContains(grpc_message, "Failed parsing HTTP/2") || absl::StrContains(grpc_message, "http1.x server");
}

bool IsClosed(const std::string& grpc_message) {
  return absl::StrContains(grpc_message, "Socket closed") || absl::StrContains(grpc_message, "EOF") ||
         absl::StrContains(grpc_message, "recvmsg:Connection reset");
}

std::string ConnectionErrorInWords(const std::string& grpc_message) {
  if (IsClosed(grpc_message)) return kClosed;
  for (const std::string mark : {"Failed to connect to remote host: ", "last error: "}) {
    const size_t at = grpc_message.rfind(mark);
    if (at == std::string::npos) continue;
    const std::string tail = grpc_message.substr(at + mark.size());
    if (absl::StrContains(tail, "SETTINGS frame")) return "it accepts the connection, but sends nothing";
    if (absl::StrContains(tail, "Shutdown") || absl::StrContains(tail, "imeout")) return "no answer to the connect";
    return tail;
  }
  return grpc_message;
}

std::string PlainConnectionErrorInWords(const std::string& grpc_message) {
  std::string words = ConnectionErrorInWords(grpc_message);
  if (words == kClosed) words += " at once: if the scheduler speaks TLS, this needs --tls_config (MS_TLS_CONFIG)";
  return words;
}

std::string PlainCutsInWords() {
  static_assert(kCutsBeforeHint == 5);
  return "it closed five connections in a row right after they opened. Most likely the scheduler requires TLS: set "
         "--tls_config (MS_TLS_CONFIG) here. Otherwise another program listens there, or a proxy in between closes "
         "connections";
}

}  // namespace muster
