// A client of the store with a connection of its own.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "common/base/unique_fd.h"
#include "tests/unit/torch_store/wire.h"

namespace muster::torch_store {

inline constexpr int kPatienceMs = 10'000;

class SocketClient {
 public:
  explicit SocketClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }

  void Send(const std::string& bytes) { send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }

  void EndWriting() { shutdown(fd_.get(), SHUT_WR); }

  // Returns fewer bytes if the connection is closed, or nothing comes for a long time.
  std::string Receive(size_t size) {
    std::string bytes(size, '\0');
    size_t done = 0;
    while (done < size) {
      pollfd waited{fd_.get(), POLLIN, 0};
      if (poll(&waited, 1, kPatienceMs) != 1) break;
      const ssize_t n = recv(fd_.get(), bytes.data() + done, size - done, 0);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }
  // Returns what has come, once there is something; nothing if the connection is closed, or nothing comes for a long
  // time.
  std::string ReceiveSome() {
    std::string bytes(64 * 1024, '\0');
    pollfd waited{fd_.get(), POLLIN, 0};
    const ssize_t n = poll(&waited, 1, kPatienceMs) == 1 ? recv(fd_.get(), bytes.data(), bytes.size(), 0) : 0;
    bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return bytes;
  }
  bool HasNothing() {
    pollfd waited{fd_.get(), POLLIN, 0};
    return poll(&waited, 1, 0) == 0;
  }
  // When this returns true, all that was sent before has been applied.
  bool Ping(uint32_t nonce = 5) {
    Send(Ask(Query::kPing, Bytes(nonce)));
    return Receive(4) == Bytes(nonce);
  }
  bool IsClosed() { return Receive(1).empty(); }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace muster::torch_store
