// A store and its relays.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/torch_store/socket_client.h"
#include "worker_agent/gateway/torch_store/server.h"

namespace muster::torch_store {

class RelayTest : public testing::Test {
 protected:
  void StartStore(LinksOptions links = {}, const Limits& limits = Limits()) {
    if (!links.why_not) links.why_not = [](const LinkHello&, const TcpClient&) { return std::string(); };
    auto server = StartServer({}, limits, Clock::System(), std::move(links));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    port_ = *server_->ListenOnLoopback(0);
  }
  // Returns the port of the relay.
  uint16_t AddRelay(uint16_t to, const std::string& node) {
    RelayOptions options;
    options.store.port = to;
    options.hello.node = node;
    options.hello.job = "job";
    auto relay = StartRelay(std::move(options), Clock::System());
    EXPECT_TRUE(relay.ok()) << relay.status();
    const uint16_t port = *(*relay)->ListenOnLoopback(0);
    relays_.push_back(*std::move(relay));
    return port;
  }
  static SocketClient Greeted(uint16_t port) {
    SocketClient client(port);
    client.Send(Hello());
    EXPECT_TRUE(client.Ping());
    return client;
  }
  static std::string Set(const std::string& key, const std::string& value) {
    return Ask(Query::kSet, Texts({key, value}));
  }
  static std::string Get(const std::string& key) { return Ask(Query::kGet, Text(key)); }
  static std::string Wait(const std::string& key) { return Ask(Query::kWait, Counted({key})); }
  static std::string Add(const std::string& key, int64_t number) { return Ask(Query::kAdd, Text(key) + Bytes(number)); }

  std::unique_ptr<Service> server_;
  uint16_t port_ = 0;
  std::vector<std::unique_ptr<Service>> relays_;
};

}  // namespace muster::torch_store
