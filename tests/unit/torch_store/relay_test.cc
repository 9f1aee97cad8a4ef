
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "tests/unit/torch_store/cutter.h"
#include "tests/unit/torch_store/relay_fixture.h"

namespace muster::torch_store {
namespace {

TEST_F(RelayTest, ClientsOfTwoMachinesShareTheStore) {
  StartStore();
  SocketClient reader = Greeted(AddRelay(port_, "a"));
  SocketClient writer = Greeted(AddRelay(port_, "b"));
  SocketClient here = Greeted(port_);
  reader.Send(Wait("/k"));
  EXPECT_TRUE(writer.Ping());
  writer.Send(Set("/k", "value"));
  EXPECT_EQ(reader.Receive(1), kStop);
  reader.Send(Get("/k"));
  EXPECT_EQ(reader.Receive(13), Text("value"));
  here.Send(Get("/k"));
  EXPECT_EQ(here.Receive(13), Text("value"));
}

TEST_F(RelayTest, OneThatIsNoClientIsClosedAndTheOthersStay) {
  StartStore();
  const uint16_t port = AddRelay(port_, "a");
  SocketClient good = Greeted(port);
  SocketClient bad(port);
  bad.Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(bad.IsClosed());
  EXPECT_TRUE(good.Ping());
}

TEST_F(RelayTest, AWriteCountsThoughItsSenderClosesAtOnce) {
  StartStore();
  const uint16_t port = AddRelay(port_, "a");
  SocketClient reader = Greeted(port);
  reader.Send(Wait("/last"));
  {
    SocketClient writer(port);
    writer.Send(Hello() + Set("/last", "word"));
  }
  EXPECT_EQ(reader.Receive(1), kStop);
}

TEST_F(RelayTest, LargeValuesPassAndASlowReaderBlocksNoOther) {
  StartStore();
  const uint16_t port = AddRelay(port_, "a");
  SocketClient client = Greeted(port);
  const std::string value(3 << 20, 'v');
  client.Send(Set("/big", value));
  ASSERT_TRUE(client.Ping());
  SocketClient slow = Greeted(port);
  for (int i = 0; i < 4; ++i) slow.Send(Get("/big"));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Ping());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(slow.Receive(8 + value.size()) == Text(value));
}

TEST_F(RelayTest, AWaitOutlivesTheLinksConnection) {
  StartStore();
  Cutter network(port_, 0, 1);
  SocketClient reader = Greeted(AddRelay(network.port(), "a"));
  SocketClient here = Greeted(port_);
  reader.Send(Wait("/k"));
  EXPECT_TRUE(here.Ping());
  network.Block(true);
  here.Send(Set("/k", "v"));
  EXPECT_TRUE(here.Ping());
  EXPECT_TRUE(reader.HasNothing());
  network.Block(false);
  EXPECT_EQ(reader.Receive(1), kStop);
  EXPECT_EQ(network.connections(), 2);
}

TEST_F(RelayTest, AfterTooLongItsClientsAreDisconnectedAndNewOnesAreServed) {
  StartStore({.why_not = {}, .max_clients = 1, .patience = absl::Milliseconds(1)});
  Cutter network(port_, 0, 1);
  const uint16_t port = AddRelay(network.port(), "a");
  const uint16_t other = AddRelay(port_, "b");
  SocketClient client = Greeted(port);
  network.Block(true);
  // There is no room for another client until the store has given up the one behind the blocked network.
  for (bool is_served = false; !is_served;) {
    SocketClient probe(other);
    probe.Send(Hello());
    is_served = probe.Ping();
  }
  network.Block(false);
  EXPECT_TRUE(client.IsClosed());
  for (bool is_served = false; !is_served;) {
    SocketClient probe(port);
    probe.Send(Hello());
    is_served = probe.Ping();
  }
}

TEST_F(RelayTest, AnUnknownNodesLinkIsRefusedAndItsClientsWait) {
  StartStore({.why_not = [](const LinkHello& hello, const TcpClient&) {
    return hello.node == "a" ? std::string() : std::string("a stranger");
  }});
  SocketClient foreign(AddRelay(port_, "b"));
  foreign.Send(Hello() + Ask(Query::kPing, Bytes<uint32_t>(1)));
  EXPECT_TRUE(Greeted(AddRelay(port_, "a")).Ping());
  EXPECT_TRUE(foreign.HasNothing());
}

TEST_F(RelayTest, ClientsOfLinksHaveALimit) {
  StartStore({.why_not = {}, .max_clients = 2});
  const uint16_t port = AddRelay(port_, "a");
  SocketClient first = Greeted(port);
  SocketClient second = Greeted(port);
  SocketClient third(port);
  third.Send(Hello());
  EXPECT_TRUE(third.IsClosed());
  EXPECT_TRUE(first.Ping());
}

TEST_F(RelayTest, AnAgentTakesNoMoreThanItsOwnPlaces) {
  StartStore({.why_not = {}, .places_of = [](const std::string&) { return size_t{2}; }, .max_clients = 4});
  const uint16_t port = AddRelay(port_, "a");
  SocketClient first = Greeted(port);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Greeted(port).Ping());  // a place is free as soon as a client closes
  SocketClient second = Greeted(port);
  SocketClient third(port);
  third.Send(Hello());
  EXPECT_TRUE(third.IsClosed());
  EXPECT_TRUE(Greeted(AddRelay(port_, "b")).Ping());
}

TEST_F(RelayTest, AClientThatSaysNothingCostsTheStoreNothing) {
  StartStore({.why_not = {}, .max_clients = 1});
  const uint16_t port = AddRelay(port_, "a");
  SocketClient silent(port);
  SocketClient client = Greeted(port);
  EXPECT_TRUE(client.Ping());
}

class LeapingClock final : public Clock {
 public:
  Now Read() const override {
    Now now = Clock::System().Read();
    now.monotonic = now.monotonic + absl::Seconds(leapt.load());
    return now;
  }
  std::atomic<int> leapt = 0;
};

TEST_F(RelayTest, TheEndIsNoFailureOfTheLink) {
  StartStore();
  LeapingClock clock;
  RelayOptions options;
  options.store.port = port_;
  options.hello.node = "a";
  auto relay = StartRelay(std::move(options), clock);
  ASSERT_TRUE(relay.ok());
  SocketClient client = Greeted(*(*relay)->ListenOnLoopback(0));
  clock.leapt = 60;
  EXPECT_TRUE(client.Ping());
  testing::internal::CaptureStderr();
  relay->reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(testing::HasSubstr("can't be reached")));
}

}  // namespace
}  // namespace muster::torch_store
