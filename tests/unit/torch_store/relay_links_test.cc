// Agents on links to the store: hostile ones, older ones, and ones that read nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/torch_store/relay_fixture.h"
#include "worker_agent/gateway/torch_store/relay/mux.h"

namespace muster::torch_store {
namespace {

class RelayLinkTest : public RelayTest {};

// Garbage instead of a hello, or after a good one.
TEST_F(RelayLinkTest, NonsenseOnALinkEndsThatLinkOnly) {
  StartStore();
  LinkHello hello;
  hello.session = std::string(kSessionBytes, 's');
  hello.node = "b";
  for (const std::string& bytes :
       {std::string("MUSTRLNX0123456789"), std::string("MUSTRLNK\x7f"), HelloBytes(hello) + std::string(100, '\xff')}) {
    SocketClient link(port_);
    link.Send(bytes);
    std::string answer = link.Receive(100);
    EXPECT_LE(answer.size(), 9U);
  }
  EXPECT_TRUE(Greeted(AddRelay(port_, "b")).Ping());
}

// An agent as the store sees it, which can send anything.
class RawLink {
 public:
  RawLink(uint16_t port, const std::string& node) : socket_(port) {
    hello_.session = std::string(kSessionBytes, 's');
    hello_.node = node;
    socket_.Send(HelloBytes(hello_));
    EXPECT_EQ(socket_.Receive(9).size(), 9U);
  }
  // Sends the bytes as a new client of the agent.
  uint32_t Say(const std::string& bytes) {
    const uint32_t id = mux_.Open();
    mux_.Write(id, bytes);
    Flush();
    return id;
  }
  // Waits until the store has applied all that was sent before.
  void Ping() {
    Say(Hello() + Ask(Query::kPing, Bytes<uint32_t>(7)));
    EXPECT_EQ(socket_.Receive(12 + 9 + 4).size(), 25U);
  }
  // Reads for all clients until `total` bytes have come. Returns how many each has got.
  std::map<uint32_t, size_t> ReadOf(const std::vector<uint32_t>& clients, size_t total) {
    std::map<uint32_t, size_t> got;
    for (size_t done = 0; done < total;) {
      const std::string bytes = socket_.ReceiveSome();
      EXPECT_FALSE(bytes.empty());
      if (bytes.empty() || !mux_.Receive(bytes).ok()) break;
      for (const uint32_t id : clients) {
        const size_t part = mux_.Peek(id).size();
        if (part > 0) mux_.Consume(id, part);
        got[id] += part;
        done += part;
      }
      Flush();
    }
    return got;
  }
  // Ignores what is sent before the close.
  bool IsClosed() {
    while (!socket_.Receive(1).empty()) {
    }
    char none = 0;
    return recv(socket_.fd(), &none, 1, MSG_DONTWAIT) == 0;
  }

 private:
  void Flush() {
    std::string wire;
    mux_.stream().Acknowledge();
    mux_.stream().Fill(wire, SIZE_MAX);
    socket_.Send(wire);
  }

  LinkHello hello_;
  SocketClient socket_;
  Mux mux_{Mux::Side::kRelay, {.opened = [](uint32_t) {}, .touched = [](uint32_t) {}, .has_room = [] {}}};
};

// The beginning of a request for a value of 1 MiB, with `size` bytes of the value.
std::string PartOf(size_t size) {
  return Hello() + Ask(Query::kSet, Text("/half") + Bytes<uint64_t>(1 << 20) + std::string(size, 'h'));
}

TEST_F(RelayLinkTest, ASessionThatFillsTheStoreWithHalvesOfRequestsEnds) {
  Limits limits;
  limits.input_bytes = 1 << 20;
  StartStore({}, limits);
  SocketClient other = Greeted(port_);
  RawLink link(port_, "a");
  link.Say(PartOf(100 << 10));
  link.Say(PartOf(100 << 10));
  link.Ping();
  link.Say(PartOf(100 << 10));
  EXPECT_TRUE(link.IsClosed());
  EXPECT_TRUE(other.Ping());
}

TEST_F(RelayLinkTest, HalvesOfRequestsOfAgentsThatAreAwayAreGivenUpFirst) {
  Limits limits;
  limits.input_bytes = 1 << 20;
  StartStore({}, limits);
  for (const char* node : {"a", "b", "c", "d"}) {
    RawLink link(port_, node);
    link.Say(PartOf(120 << 10));
    link.Say(PartOf(120 << 10));
    link.Ping();
  }
  SocketClient client(port_);
  const std::string value(100 << 10, 'v');
  const std::string request = Hello() + Set("/k", value);
  client.Send(request.substr(0, request.size() - 1));
  SocketClient probe = Greeted(port_);
  client.Send(request.substr(request.size() - 1));
  EXPECT_TRUE(client.Ping());
}

TEST_F(RelayLinkTest, ARefusalHasAReasonAndARemedy) {
  LinksOptions links;
  links.why_not = [](const LinkHello& hello, const TcpClient&) {
    return hello.node == "b" ? "start it otherwise" : "";
  };
  StartStore(std::move(links));
  LinkHello hello;
  hello.session = std::string(kSessionBytes, 's');
  hello.node = "b";
  SocketClient foreign(port_);
  foreign.Send(HelloBytes(hello));
  const std::string received = foreign.Receive(1000);  // reads all until it is closed
  std::string_view rest = received;
  const auto answer = TakeAnswer(rest);
  ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
  EXPECT_EQ((*answer)->refusal, "start it otherwise");
  EXPECT_EQ(rest, "");
  for (size_t size = 0; size < received.size(); ++size) {
    std::string_view part = std::string_view(received).substr(0, size);
    const auto half = TakeAnswer(part);
    EXPECT_TRUE(half.ok() && !half->has_value()) << size;
  }
  std::string long_one = AnswerBytes({.refusal = std::string(5000, 'x')});
  std::string_view cut = long_one;
  EXPECT_EQ((*TakeAnswer(cut))->refusal.size(), kMaxRefusalBytes);
  long_one[9] = long_one[10] = '\xff';
  std::string_view too_long = long_one;
  EXPECT_FALSE(TakeAnswer(too_long).ok());
}

TEST_F(RelayLinkTest, ARelayOfTheFirstVersionIsRefusedWithoutAWord) {
  LinksOptions links;
  links.why_not = [](const LinkHello&, const TcpClient&) { return "start it otherwise"; };
  StartStore(std::move(links));
  LinkHello hello;
  hello.version = 1;
  hello.session = std::string(kSessionBytes, 's');
  hello.node = "b";
  SocketClient old(port_);
  old.Send(HelloBytes(hello));
  EXPECT_EQ(old.Receive(1000), "") << "it would give its session up";
}

TEST_F(RelayLinkTest, AStoreOfTheFirstVersionIsGreetedAsItKnows) {
  const UniqueFd listener = *ListenOn(*IpAddress::Parse("127.0.0.1"), 0, 16, "a test");
  AddRelay(LocalEnd(listener.get())->port, "a");
  std::vector<char> versions;
  for (int link = 0; link < 2; ++link) {
    pollfd ready{listener.get(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 20'000), 1);
    const UniqueFd store(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char begin[9];  // the magic word, and the version
    ASSERT_EQ(recv(store.get(), begin, sizeof(begin), MSG_WAITALL), 9);
    versions.push_back(begin[8]);
  }
  EXPECT_THAT(versions, testing::ElementsAre(2, 1));
}

TEST_F(RelayLinkTest, WhatIsNotAcknowledgedCountsAndGoesWithAnAgentThatIsAway) {
  Limits limits;
  limits.unread_bytes = 1 << 20;
  StartStore({}, limits);
  SocketClient client = Greeted(port_);
  client.Send(Set("/big", std::string(100 << 10, 'v')));
  ASSERT_TRUE(client.Ping());
  auto silent = std::make_unique<RawLink>(port_, "a");
  for (int i = 0; i < 20; ++i) silent->Say(Hello() + Get("/big"));  // 2 MiB, none of it acknowledged
  const auto is_held = [&] {
    client.Send(Ask(Query::kPing, Bytes<uint32_t>(9)));
    pollfd waited{client.fd(), POLLIN, 0};
    const bool has_come = poll(&waited, 1, 300) == 1;
    if (has_come) {
      EXPECT_EQ(client.Receive(4), Bytes<uint32_t>(9));
    }
    return !has_come;
  };
  // Until the store has read all of the link, it answers pings, hundreds in a few milliseconds.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool was_held = false;
  while (!was_held && std::chrono::steady_clock::now() < deadline) was_held = is_held();
  ASSERT_TRUE(was_held);
  silent.reset();
  EXPECT_EQ(client.Receive(4), Bytes<uint32_t>(9)) << "it was given up";
  EXPECT_TRUE(client.Ping());
}

TEST_F(RelayLinkTest, TheLastClientOfAFullLinkGetsItsShare) {
  StartStore();
  SocketClient writer = Greeted(port_);
  writer.Send(Set("/big", std::string(8 << 20, 'v')));
  ASSERT_TRUE(writer.Ping());
  RawLink link(port_, "a");
  std::vector<uint32_t> clients;
  for (int i = 0; i < 80; ++i)
    clients.push_back(link.Say(Hello() + Get("/big")));  // windows of 10 MiB; there is room for 4 MiB
  for (const auto& [id, bytes] : link.ReadOf(clients, 24 << 20)) EXPECT_GT(bytes, 0U) << id;
}

}  // namespace
}  // namespace muster::torch_store
