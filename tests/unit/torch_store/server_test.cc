#include "worker_agent/gateway/torch_store/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "tests/unit/torch_store/socket_client.h"

namespace muster::torch_store {
namespace {

class ServerTest : public testing::Test {
 protected:
  void Start(TcpServerOptions tcp = {}, const Limits& limits = Limits()) {
    auto started = StartServer(std::move(tcp), limits, Clock::System());
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    const auto port = server_->ListenOnLoopback(0);
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *port;
  }

  SocketClient Greeted() {
    SocketClient client(port_);
    client.Send(Hello());
    EXPECT_TRUE(client.Ping());
    return client;
  }

  static std::string Set(const std::string& key, const std::string& value) {
    return Ask(Query::kSet, Texts({key, value}));
  }
  static std::string Get(const std::string& key) { return Ask(Query::kGet, Text(key)); }
  static std::string Wait(const std::string& key) { return Ask(Query::kWait, Counted({key})); }

  std::unique_ptr<Service> server_;
  uint16_t port_ = 0;
};

TEST_F(ServerTest, AWaiterIsNotifiedAndReads) {
  Start();
  SocketClient reader = Greeted();
  SocketClient writer = Greeted();
  reader.Send(Wait("/a"));
  EXPECT_TRUE(writer.Ping());
  EXPECT_TRUE(reader.HasNothing());
  writer.Send(Set("/a", "value"));
  EXPECT_EQ(reader.Receive(1), kStop);
  reader.Send(Get("/a"));
  EXPECT_EQ(reader.Receive(13), Text("value"));
}

TEST_F(ServerTest, RequestsOfOneSegmentAreAnsweredInOrder) {
  Start();
  SocketClient client = Greeted();
  std::string all;
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    const std::string value(static_cast<size_t>(i), 'x');
    all += Set("/k", value) + Get("/k");
    expected += Text(value);
  }
  client.Send(all);
  EXPECT_EQ(client.Receive(expected.size()), expected);
}

TEST_F(ServerTest, BytesOneByOneAreTheSame) {
  Start();
  SocketClient client(port_);
  for (const char byte : Hello() + Set("/a", "1") + Get("/a")) client.Send(std::string(1, byte));
  EXPECT_EQ(client.Receive(9), Text("1"));
}

TEST_F(ServerTest, WhatIsNoSocketClientOfAStoreIsClosed) {
  Start();
  for (const std::string& text : {std::string("GET / HTTP/1.1\r\n\r\n"), Hello() + "\xff", Hello() + Hello()}) {
    SocketClient client(port_);
    client.Send(text);
    EXPECT_TRUE(client.IsClosed()) << text;
  }
  EXPECT_TRUE(Greeted().Ping());
}

TEST_F(ServerTest, AWriteCountsThoughItsSenderClosesAtOnce) {
  Start();
  SocketClient reader = Greeted();
  reader.Send(Wait("/last"));
  {
    SocketClient writer(port_);
    writer.Send(Hello() + Set("/last", "word"));
  }
  EXPECT_EQ(reader.Receive(1), kStop);
}

TEST_F(ServerTest, AClientThatDoesNotReadIsNotReadFromAndHarmsNoOther) {
  Start();
  SocketClient client = Greeted();
  client.Send(Set("/big", std::string(1 << 20, 'b')));
  ASSERT_TRUE(client.Ping());
  SocketClient slow = Greeted();
  std::string asked;
  constexpr size_t kTimes = 64;
  for (size_t i = 0; i < kTimes; ++i) asked += Get("/big");
  slow.Send(asked);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Ping());
  // The client gets the whole answer when it reads at last.
  const size_t each = 8 + (1 << 20);
  EXPECT_EQ(slow.Receive(kTimes * each).size(), kTimes * each);
}

TEST_F(ServerTest, ConnectionsHaveALimit) {
  TcpServerOptions tcp;
  tcp.max_connections = 3;
  Start(tcp);
  std::vector<SocketClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Greeted());
  // A client that has sent a request is not closed to make room for a new one.
  SocketClient late(port_);
  late.Send(Hello() + Ask(Query::kPing, Bytes<uint32_t>(1)));
  EXPECT_TRUE(late.IsClosed());
  for (SocketClient& client : clients) EXPECT_TRUE(client.Ping());
}

TEST_F(ServerTest, RefusedClientsAreClosed) {
  TcpServerOptions tcp;
  tcp.why_not = [](const SocketAddress&, const SocketAddress&) { return std::string("a stranger"); };
  Start(tcp);
  SocketClient client(port_);
  client.Send(Hello());
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(ServerTest, ASocketClientThatIsGoneWaitsForNothing) {
  Start({}, {.wait_bytes = 2 * 260});
  for (int i = 0; i < 5; ++i) {
    SocketClient client = Greeted();
    client.Send(Ask(Query::kWait, Counted({"/a", "/b"})));
    EXPECT_TRUE(client.Ping());
    client.Send(Ask(Query::kCancelWait, ""));
    EXPECT_EQ(client.Receive(1), std::string(1, 1));
    client.Send(Ask(Query::kWait, Counted({"/a", "/b"})));
    EXPECT_TRUE(client.Ping());
    shutdown(client.fd(), SHUT_WR);
    EXPECT_TRUE(client.IsClosed());  // the server has dropped it, and the next one may wait
  }
}

TEST_F(ServerTest, BothDialectsShareOneStore) {
  Start();
  SocketClient old(port_);
  old.Send(std::string(1, '\0') + Texts({"/a", "old"}));  // 1.13's SET
  old.Send(std::string(1, '\2') + Text("/a"));            // its GET
  EXPECT_EQ(old.Receive(11), Text("old"));
  SocketClient client = Greeted();
  client.Send(Get("/a"));
  EXPECT_EQ(client.Receive(11), Text("old"));
}

TEST_F(ServerTest, ItsEndClosesAll) {
  Start();
  SocketClient client = Greeted();
  server_.reset();
  EXPECT_TRUE(client.IsClosed());
}

}  // namespace
}  // namespace muster::torch_store
