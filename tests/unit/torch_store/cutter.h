// A network from one port to another, which delays bytes and cuts connections, at random or on command.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/tcp_server/socket_address.h"

namespace muster::torch_store {

class Cutter {
 public:
  // `lifetime`: about how many bytes pass before a connection is cut; 0: none is cut.
  Cutter(uint16_t to, size_t lifetime, unsigned seed) : to_(to), lifetime_(lifetime), random_(seed) {
    listener_ = *ListenOn(*IpAddress::Parse("127.0.0.1"), 0, 16, "a test");
    port_ = LocalEnd(listener_.get())->port;
    thread_ = std::thread([this] { Run(); });
  }
  ~Cutter() {
    is_over_ = true;
    thread_.join();
  }

  uint16_t port() const { return port_; }
  int connections() const { return connections_; }
  void CutNow() { is_cut_asked_ = true; }
  // When this returns, nothing passes any more.
  void Block(bool is_blocked) {
    is_blocked_ = is_blocked;
    if (!is_blocked) return;
    CutNow();
    while (is_cut_asked_) std::this_thread::yield();
  }

 private:
  struct Pair {
    UniqueFd ends[2];
    size_t left = SIZE_MAX;
  };

  // Returns false when the connection is over.
  bool Pass(Pair& pair, int from) {
    char bytes[8192];
    const size_t most = lifetime_ == 0 ? sizeof(bytes) : 1 + random_() % sizeof(bytes);
    const ssize_t n = recv(pair.ends[from].get(), bytes, most, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    // A part of the bytes may still arrive.
    const size_t passed = std::min(static_cast<size_t>(n), pair.left);
    for (size_t done = 0; done < passed;) {
      pollfd room{pair.ends[1 - from].get(), POLLOUT, 0};
      poll(&room, 1, 100);
      const ssize_t m = send(pair.ends[1 - from].get(), bytes + done, passed - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (m < 0 && (errno != EAGAIN || is_over_ || is_cut_asked_)) return false;
      if (m > 0) done += static_cast<size_t>(m);
    }
    pair.left -= passed;
    return pair.left > 0;
  }

  void Run() {
    std::vector<Pair> pairs;
    while (!is_over_) {
      std::vector<pollfd> polled = {{listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs) {
        for (const UniqueFd& end : pair.ends) polled.push_back({end.get(), POLLIN, 0});
      }
      poll(polled.data(), polled.size(), 5);
      if (is_cut_asked_) {
        pairs.clear();
        is_cut_asked_ = false;
      }
      std::erase_if(pairs, [this](Pair& pair) { return !Pass(pair, 0) || !Pass(pair, 1); });
      SocketAddress ignored;
      UniqueFd from = AcceptFrom(listener_.get(), ignored);
      if (!from.is_open() || is_blocked_) continue;
      UniqueFd to = StartConnecting({*IpAddress::Parse("127.0.0.1"), to_});
      pollfd made{to.get(), POLLOUT, 0};
      poll(&made, 1, 1000);
      ++connections_;
      pairs.push_back({{std::move(from), std::move(to)}, lifetime_ == 0 ? SIZE_MAX : 300 + random_() % lifetime_});
    }
  }

  const uint16_t to_;
  const size_t lifetime_;
  std::mt19937 random_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> is_cut_asked_ = false;
  std::atomic<bool> is_blocked_ = false;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace muster::torch_store
