// Ports at which no scheduler answers.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace muster::agent {

// A port without a listener, which stays so for the life of this object.
class SilentPort {
 public:
  explicit SilentPort(bool listens) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    EXPECT_TRUE(!listens || listen(fd_, 16) == 0);
  }
  ~SilentPort() { close(fd_); }
  uint16_t port() const { return port_; }
  int fd() const { return fd_; }

 private:
  const int fd_;
  uint16_t port_ = 0;
};

// A server of another kind: it greets each client with these bytes.
class GreetingPort {
 public:
  explicit GreetingPort(const std::string& greeting)
      : port_(true), thread_([this, greeting] {
          std::vector<int> connections;
          for (int fd = accept(port_.fd(), nullptr, nullptr); fd >= 0; fd = accept(port_.fd(), nullptr, nullptr)) {
            send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL);
            connections.push_back(fd);
          }
          for (const int fd : connections) close(fd);
        }) {}
  ~GreetingPort() {
    shutdown(port_.fd(), SHUT_RDWR);  // ends the accept call
    thread_.join();
  }
  uint16_t port() const { return port_.port(); }

 private:
  SilentPort port_;
  std::thread thread_;
};

}  // namespace muster::agent
