#include "worker_agent/gateway/torch_store/relay/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/torch_store/cutter.h"
#include "tests/unit/torch_store/linearizable.h"
#include "tests/unit/torch_store/socket_client.h"
#include "worker_agent/gateway/torch_store/relay/mux.h"
#include "worker_agent/gateway/torch_store/server.h"

namespace muster::torch_store {
namespace {

class RelayTest : public testing::Test {
 protected:
  void StartStore(LinksOptions links = {}, const Limits& limits = Limits()) {
    if (!links.why_not) links.why_not = [](const LinkHello&, const TcpClient&) { return std::string(); };
    auto server = Server::Start({}, limits, Clock::System(), std::move(links));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    port_ = *server_->Listen(*IpAddress::Parse("127.0.0.1"), 0);
  }
  // Returns the port of the relay.
  uint16_t AddRelay(uint16_t to, const std::string& node) {
    RelayOptions options;
    options.store.port = to;
    options.hello.node = node;
    options.hello.job = "job";
    auto relay = Relay::Start(std::move(options), Clock::System());
    EXPECT_TRUE(relay.ok()) << relay.status();
    const uint16_t port = *(*relay)->Listen(0);
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

  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
  std::vector<std::unique_ptr<Relay>> relays_;
};

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

TEST_F(RelayTest, LargeValuesPassAndASlowReaderHoldsUpNobody) {
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
  // There is no room for another one until the store has given that one up.
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

TEST_F(RelayTest, AStrangersLinkIsRefusedAndItsClientsWait) {
  StartStore({.why_not = [](const LinkHello& hello, const TcpClient&) {
    return hello.node == "a" ? std::string() : std::string("a stranger");
  }});
  SocketClient stranger(AddRelay(port_, "b"));
  stranger.Send(Hello() + Ask(Query::kPing, Bytes<uint32_t>(1)));
  EXPECT_TRUE(Greeted(AddRelay(port_, "a")).Ping());
  EXPECT_TRUE(stranger.HasNothing());
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
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Greeted(port).Ping());  // a place is free as soon as one closes
  SocketClient second = Greeted(port);
  SocketClient third(port);
  third.Send(Hello());
  EXPECT_TRUE(third.IsClosed());
  EXPECT_TRUE(Greeted(AddRelay(port_, "b")).Ping());
}

// What hostile agents say: garbage instead of a hello, or behind a good one.
TEST_F(RelayTest, NonsenseOnALinkEndsThatLinkOnly) {
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

// An agent as the store sees it, which says what it likes.
class RawLink {
 public:
  RawLink(uint16_t port, const std::string& node) : socket_(port) {
    hello_.session = std::string(kSessionBytes, 's');
    hello_.node = node;
    socket_.Send(HelloBytes(hello_));
    EXPECT_EQ(socket_.Receive(9).size(), 9U);
  }
  // As a client of its own.
  uint32_t Say(const std::string& bytes) {
    const uint32_t id = mux_.Open();
    mux_.Write(id, bytes);
    Flush();
    return id;
  }
  // All that was said before has come.
  void Ping() {
    Say(Hello() + Ask(Query::kPing, Bytes<uint32_t>(7)));
    EXPECT_EQ(socket_.Receive(12 + 9 + 4).size(), 25U);
  }
  // Clients who read all that comes, at once. Returns what each has got when `total` bytes have come.
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
  // Whatever is said before that.
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

// A request of `size` bytes or more, of which so many are there.
std::string PartOf(size_t size) {
  return Hello() + Ask(Query::kSet, Text("/half") + Bytes<uint64_t>(1 << 20) + std::string(size, 'h'));
}

TEST_F(RelayTest, ASessionThatFillsTheStoreWithHalvesOfRequestsEnds) {
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

TEST_F(RelayTest, HalvesOfRequestsOfAgentsThatAreAwayAreGivenUpFirst) {
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

TEST_F(RelayTest, WhoIsRefusedIsToldWhyAndWhatToDo) {
  LinksOptions links;
  links.why_not = [](const LinkHello& hello, const TcpClient&) {
    return hello.node == "b" ? "start it otherwise" : "";
  };
  StartStore(std::move(links));
  LinkHello hello;
  hello.session = std::string(kSessionBytes, 's');
  hello.node = "b";
  SocketClient stranger(port_);
  stranger.Send(HelloBytes(hello));
  const std::string told = stranger.Receive(1000);  // all, until it is closed
  std::string_view rest = told;
  const auto answer = TakeAnswer(rest);
  ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
  EXPECT_EQ((*answer)->refusal, "start it otherwise");
  EXPECT_EQ(rest, "");
  for (size_t size = 0; size < told.size(); ++size) {
    std::string_view part = std::string_view(told).substr(0, size);
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

TEST_F(RelayTest, ARelayOfTheFirstVersionIsRefusedWithoutAWord) {
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

TEST_F(RelayTest, AStoreOfTheFirstVersionIsGreetedAsItKnows) {
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

TEST_F(RelayTest, WhatIsNotAcknowledgedCountsAndGoesWithAnAgentThatIsAway) {
  Limits limits;
  limits.unread_bytes = 1 << 20;
  StartStore({}, limits);
  SocketClient client = Greeted(port_);
  client.Send(Set("/big", std::string(100 << 10, 'v')));
  ASSERT_TRUE(client.Ping());
  auto silent = std::make_unique<RawLink>(port_, "a");
  for (int i = 0; i < 20; ++i) silent->Say(Hello() + Get("/big"));  // 2 MiB, of which nothing is acknowledged
  const auto is_held = [&] {
    client.Send(Ask(Query::kPing, Bytes<uint32_t>(9)));
    pollfd waited{client.fd(), POLLIN, 0};
    const bool has_come = poll(&waited, 1, 300) == 1;
    if (has_come) {
      EXPECT_EQ(client.Receive(4), Bytes<uint32_t>(9));
    }
    return !has_come;
  };
  // Until the store has read what the link says, pings are answered, hundreds in a few milliseconds.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool was_held = false;
  while (!was_held && std::chrono::steady_clock::now() < deadline) was_held = is_held();
  ASSERT_TRUE(was_held);
  silent.reset();
  EXPECT_EQ(client.Receive(4), Bytes<uint32_t>(9)) << "it was given up";
  EXPECT_TRUE(client.Ping());
}

TEST_F(RelayTest, TheLastClientOfAFullLinkGetsItsShare) {
  StartStore();
  SocketClient writer = Greeted(port_);
  writer.Send(Set("/big", std::string(8 << 20, 'v')));
  ASSERT_TRUE(writer.Ping());
  RawLink link(port_, "a");
  std::vector<uint32_t> clients;
  for (int i = 0; i < 80; ++i)
    clients.push_back(link.Say(Hello() + Get("/big")));  // windows of 10 MiB; 4 MiB have room
  for (const auto& [id, bytes] : link.ReadOf(clients, 24 << 20)) EXPECT_GT(bytes, 0U) << id;
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
  auto relay = Relay::Start(std::move(options), clock);
  ASSERT_TRUE(relay.ok());
  SocketClient client = Greeted(*(*relay)->Listen(0));
  clock.leapt = 60;
  EXPECT_TRUE(client.Ping());
  testing::internal::CaptureStderr();
  relay->reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(testing::HasSubstr("can't be reached")));
}

// Histories of clients behind three relays whose links are delayed and cut all the time.
class History {
 public:
  History(uint16_t port, int number) : client_(port), random_(static_cast<unsigned>(number)), number_(number) {
    client_.Send(Hello());
  }

  void Run(int operations) {
    for (int i = 0; i < operations && !failed_; ++i) {
      const size_t key = random_() % 4;
      if (key < 2) {
        OnValue(key, i);
      } else {
        OnQueue(key, i);
      }
    }
  }
  bool failed() const { return failed_; }
  std::vector<Operation> of_key[4];

 private:
  static int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  std::string TakeText() {
    const std::string length = client_.Receive(8);
    if (length.size() != 8) failed_ = true;
    uint64_t size = 0;
    if (!failed_) std::memcpy(&size, length.data(), 8);
    return client_.Receive(size);
  }
  int64_t TakeNumber() {
    const std::string bytes = client_.Receive(8);
    if (bytes.size() != 8) failed_ = true;
    int64_t number = 0;
    if (!failed_) std::memcpy(&number, bytes.data(), 8);
    return number;
  }
  void OnValue(size_t key, int i) {
    const std::string name = absl::StrCat("/", key);
    Operation done;
    done.begun = Now();
    if (key == 0) {
      done.kind = Operation::Kind::kAdd;
      done.number = 1 + static_cast<int64_t>(random_() % 3);
      client_.Send(Ask(Query::kAdd, Text(name) + Bytes(done.number)));
      done.answer = absl::StrCat(TakeNumber());
    } else if (random_() % 2 == 0) {
      done.kind = Operation::Kind::kCompareSet;
      done.expected = last_;
      done.value = absl::StrCat(number_, ".", i);
      client_.Send(Ask(Query::kCompareSet, Texts({name, done.expected, done.value})));
      done.answer = last_ = TakeText();
    } else {
      client_.Send(Get(name));
      done.answer = last_ = TakeText();
    }
    done.ended = Now();
    of_key[key].push_back(done);
  }
  void OnQueue(size_t key, int i) {
    const std::string name = absl::StrCat("/q", key);
    Operation done;
    done.begun = Now();
    if (random_() % 2 == 0) {
      done.kind = Operation::Kind::kPush;
      done.value = absl::StrCat(number_, ".", i);
      client_.Send(Ask(Query::kQueuePush, Texts({name, done.value})));
      if (!client_.Ping()) failed_ = true;  // it has no answer of its own
    } else {
      done.kind = Operation::Kind::kPop;
      client_.Send(Ask(Query::kQueuePop, Text(name)));
      if (TakeNumber() > 0) done.answer = TakeText();
    }
    done.ended = Now();
    of_key[key].push_back(done);
  }
  static std::string Get(const std::string& key) { return Ask(Query::kGet, Text(key)); }

  SocketClient client_;
  std::mt19937 random_;
  const int number_;
  std::string last_;
  bool failed_ = false;
};

TEST(Linearizable, IsToldFromWhatIsNot) {
  using K = Operation::Kind;
  const std::vector<Operation> good = {{.kind = K::kAdd, .number = 1, .answer = "3", .begun = 0, .ended = 9},
                                       {.kind = K::kAdd, .number = 2, .answer = "2", .begun = 1, .ended = 5},
                                       {.kind = K::kGet, .answer = "3", .begun = 8, .ended = 10}};
  EXPECT_TRUE(IsLinearizable(good));
  std::vector<Operation> stale = good;
  stale[2] = {.kind = K::kGet, .answer = "2", .begun = 10, .ended = 11};
  EXPECT_FALSE(IsLinearizable(stale));
  std::vector<Operation> twice = good;
  twice[0].answer = "4";
  EXPECT_FALSE(IsLinearizable(twice));
  const std::vector<Operation> doubled = {{.kind = K::kPush, .value = "x", .begun = 0, .ended = 1},
                                          {.kind = K::kPop, .answer = "x", .begun = 2, .ended = 5},
                                          {.kind = K::kPop, .answer = "x", .begun = 3, .ended = 6}};
  EXPECT_FALSE(IsLinearizable(doubled));
}

class Histories : public RelayTest, public testing::WithParamInterface<int> {};

TEST_P(Histories, AreLinearizable) {
  StartStore();
  std::vector<std::unique_ptr<Cutter>> networks;
  std::vector<std::unique_ptr<History>> histories;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    networks.push_back(std::make_unique<Cutter>(port_, 1500, static_cast<unsigned>(GetParam() * 10 + i)));
    const uint16_t port = AddRelay(networks.back()->port(), absl::StrCat("n", i));
    for (int j = 0; j < 2; ++j) {
      histories.push_back(std::make_unique<History>(port, GetParam() * 100 + i * 10 + j));
    }
  }
  threads.reserve(histories.size());
  for (const auto& history : histories) threads.emplace_back([&history] { history->Run(30); });
  for (std::thread& thread : threads) thread.join();
  int cuts = 0;
  for (const auto& network : networks) cuts += network->connections() - 1;
  EXPECT_GT(cuts, 3);
  for (size_t key = 0; key < 4; ++key) {
    std::vector<Operation> all;
    for (const auto& history : histories) {
      ASSERT_FALSE(history->failed());
      all.insert(all.end(), history->of_key[key].begin(), history->of_key[key].end());
    }
    ASSERT_LE(all.size(), 64U);
    EXPECT_TRUE(IsLinearizable(all)) << "key " << key << " of seed " << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Histories, testing::Range(1, 6));

}  // namespace
}  // namespace muster::torch_store
