// A client with a header block that never ends (CVE-2024-27316): HEADERS, and then one CONTINUATION after the other.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include "tests/unit/http2/http2_frames.h"
#include "tests/unit/rpc/test_client_socket.h"

namespace muster {

// Sends such a block to a port of this machine. True: the server cut the connection before it took 32 MB.
inline bool IsCutForItsHeaders(uint16_t port) {
  constexpr size_t kMost = size_t{32} << 20;
  const UniqueFd client = scheduler::ConnectTcp(port);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::string fields;  // each is "aaaaa: bbb…", a literal that is never indexed (RFC 7541, 6.2.3)
  for (int i = 0; i < 100; ++i) fields += std::string("\x10\x05") + "aaaaa\x7e" + std::string(126, 'b');
  if (!scheduler::SendBytes(client, kPreface + Frame(4, 0, 0, "") + Frame(1, 0, 1, fields))) return false;
  const std::string more = Frame(9, 0, 1, fields);
  for (size_t sent = 0; sent < kMost; sent += more.size()) {
    if (send(client.get(), more.data(), more.size(), MSG_NOSIGNAL) < 0) return errno == EPIPE || errno == ECONNRESET;
  }
  return false;
}

}  // namespace muster
