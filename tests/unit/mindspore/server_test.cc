#include "common/mindspore/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/base/limits.h"
#include "common/base/mutex.h"
#include "common/mindspore/frame.h"
#include "common/store/memory_job_store.h"

namespace muster::mindspore {
namespace {

// Every process is rank 7; the id "missing" belongs to no node.
class FakeCluster final : public Cluster {
 public:
  explicit FakeCluster(JobStore& store) : store_(store) {}
  Admission Register(const Peer&, const Registration& registration) override {
    if (registration.node_id().empty()) return {false, 0, 0, "no id"};
    return {true, 7, 8, ""};
  }
  LeaveResult Unregister(const Peer&, const std::string& node_id) override {
    return node_id == "missing" ? LeaveResult::kUnknownNode : LeaveResult::kDone;
  }
  std::optional<Health> Heartbeat(const Peer& peer, const std::string& node_id) override {
    if (node_id == "missing") return std::nullopt;
    beating_.insert(peer.connection);
    return Health{TopologyState::kInitialized, 8, 0};
  }
  std::optional<std::vector<std::string>> HostNames(const Peer&, const std::string& role) override {
    if (role != "MS_WORKER") return std::nullopt;
    return std::vector<std::string>{"a", "b\"c"};
  }
  std::optional<std::string> Published(const Peer&, const std::string&) override { return std::nullopt; }
  JobStore& Store(const Peer&) override { return store_; }
  bool ServesMetadata(const Peer&, MetadataUse, const std::string& key) override { return key != "forbidden"; }
  void ConnectionClosed(const Peer&) override {
    const MutexLock lock(mutex_);
    ++closed_;
    changed_.NotifyAll();
  }
  std::set<uint64_t> Needed() override { return beating_; }

  void AwaitClosed(size_t count) {
    const MutexLock lock(mutex_);
    while (closed_ < count) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t closed_ = 0;
  std::set<uint64_t> beating_;
  JobStore& store_;
};

class Client {
 public:
  explicit Client(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }

  void Send(const std::string& bytes) { send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void Ask(const std::string& number, const std::string& body) { Send(EncodeFrame({number, "@x", "@", body})); }

  // std::nullopt: the connection is closed, or nothing came in time.
  std::optional<Frame> Receive(int timeout_ms = 10'000) {
    while (true) {
      auto frame = decoder_.Next();
      if (!frame.ok()) return std::nullopt;
      if (frame->has_value()) return **std::move(frame);
      pollfd waited{fd_.get(), POLLIN, 0};
      if (poll(&waited, 1, timeout_ms) != 1) return std::nullopt;
      char bytes[4096];
      const ssize_t n = recv(fd_.get(), bytes, sizeof(bytes), 0);
      if (n <= 0) {
        is_closed_ = true;
        return std::nullopt;
      }
      decoder_.Append(std::string_view(bytes, static_cast<size_t>(n)));
    }
  }

  bool WasClosed() {
    Receive();
    return is_closed_;
  }

 private:
  UniqueFd fd_;
  FrameDecoder decoder_;
  bool is_closed_ = false;
};

class ServerTest : public testing::Test {
 protected:
  void Start(TcpServerOptions options = {}) {
    auto started = Server::Start(std::move(options), cluster_, Clock::System());
    ASSERT_TRUE(started.ok());
    server_ = *std::move(started);
    const auto port = server_->Listen(*IpAddress::Parse("127.0.0.1"), 0, 0);
    ASSERT_TRUE(port.ok());
    port_ = *port;
  }

  static std::string Pair(const std::string& name, const std::string& value) {
    Metadata metadata;
    metadata.set_name(name);
    metadata.set_value(value);
    return metadata.SerializeAsString();
  }

  static std::string Id(const std::string& id) {
    Heartbeat heartbeat;
    heartbeat.set_node_id(id);
    return heartbeat.SerializeAsString();
  }

  MemoryJobStore store_{Clock::System()};
  FakeCluster cluster_{store_};
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
};

TEST_F(ServerTest, RegistersBeatsAndLeaves) {
  Start();
  Client client(port_);
  client.Ask("0", Id("n1"));
  auto reply = client.Receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->name, "3");
  EXPECT_EQ(reply->to, "@127.0.0.1:" + std::to_string(port_));
  RegistrationReply registered;
  ASSERT_TRUE(registered.ParseFromString(reply->body));
  EXPECT_TRUE(registered.success());
  EXPECT_EQ(registered.rank_id(), 7U);
  EXPECT_EQ(registered.node_num(), 8U);
  client.Ask("2", Id("n1"));
  EXPECT_EQ(client.Receive()->body, "\x08\x01\x10\x01\x18\x08") << "zeros are absent";
  client.Ask("1", Id("n1"));
  EXPECT_EQ(client.Receive()->body, "3");
  client.Ask("1", Id("missing"));
  reply = client.Receive();
  EXPECT_EQ(reply->name + reply->body, "44");
  client.Ask("0", "");
  reply = client.Receive();
  EXPECT_EQ(reply->name, "4");
  EXPECT_EQ(reply->body, "\x22\x05no id") << "success=false is absent";
}

// The client would take a reply to a write for the answer to its next request.
TEST_F(ServerTest, WritesAreNeverAnswered) {
  Start();
  Client client(port_);
  client.Ask("6", Pair("key", "value"));
  client.Ask("6", "no protobuf message \xff");
  client.Ask("6", Pair("", "value"));
  client.Ask("7", Pair("key", ""));
  const auto reply = client.Receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, Pair("key", "value"));
}

TEST_F(ServerTest, BothNumberings) {
  Start();
  {
    Client old(port_);  // does not register, so the server uses the old numbering
    old.Ask("7", Pair("key", ""));
    EXPECT_EQ(old.Receive()->name, "11");
    old.Ask("6", Pair("key", "1"));
    old.Ask("7", Pair("key", ""));
    EXPECT_EQ(old.Receive()->name, "10");
    old.Ask("12", Pair("key", "2"));
    EXPECT_EQ(old.Receive()->body, Pair("key", "3"));
  }
}

TEST_F(ServerTest, TheNewNumbering) {
  Start();
  Client client(port_);
  client.Ask("0", Id("n1"));  // registers at once, as clients with the new numbering do
  client.Receive();
  client.Ask("7", Pair("key", ""));
  EXPECT_EQ(client.Receive()->name, "12");
  client.Ask("10", Pair("key", "5"));
  EXPECT_EQ(client.Receive()->name, "11");
  client.Ask("8", Pair("key", ""));
  EXPECT_EQ(client.Receive()->name, "11");
  client.Ask("8", Pair("key", ""));
  EXPECT_EQ(client.Receive()->name, "12");
}

TEST_F(ServerTest, AClientAfterAllHaveGoneMayBeOfAnotherVersion) {
  Start();
  {
    Client old(port_);
    old.Ask("6", Pair("key", "1"));
    for (const char* key : {"key", "other"}) {  // the answer to another request shows that the server has understood
      old.Ask("7", Pair(key, ""));
      EXPECT_TRUE(old.Receive());
    }
  }
  cluster_.AwaitClosed(1);
  Client client(port_);
  client.Ask("0", Id("n1"));
  client.Receive();
  client.Ask("7", Pair("key", ""));
  EXPECT_EQ(client.Receive()->name, "11") << "of the new numbering";
}

TEST_F(ServerTest, HostNames) {
  Start();
  Client client(port_);
  client.Ask("9", "MS_WORKER");
  auto reply = client.Receive();
  EXPECT_EQ(reply->name, "10");
  EXPECT_EQ(reply->body, R"({"hostnames":["a","b\"c"]})");
  client.Ask("9", "MS_PSERVER");
  reply = client.Receive();
  EXPECT_EQ(reply->name, "11");
  EXPECT_EQ(reply->body, R"({"hostnames":[]})");
}

TEST_F(ServerTest, OddNamesAreIgnored) {
  Start();
  Client client(port_);
  for (const char* name : {"", "x", "-1", "2x", " 2", "99", "99999999999999999999", "2147483648"}) client.Ask(name, "");
  client.Ask("2", Id("missing"));
  client.Ask("2", Id("n1"));
  const auto reply = client.Receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->name, "3") << "the first and only answer";
}

TEST_F(ServerTest, GarbageClosesTheConnection) {
  Start();
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.0\r\n\r\n"), std::string("RPC0\xff\xff\xff\xff") + std::string(12, '\0'),
        std::string("\x16\x03\x01\x00\x05hello")}) {
    Client client(port_);
    client.Send(garbage);
    EXPECT_TRUE(client.WasClosed());
  }
}

TEST_F(ServerTest, AHalfMessageBlocksNoOtherClient) {
  Start();
  Client stalled(port_);
  stalled.Send(EncodeFrame({"6", "@x", "@", std::string(1000, 'x')}).substr(0, 500));
  Client client(port_);
  client.Ask("2", Id("n1"));
  EXPECT_TRUE(client.Receive());
}

// Otherwise clients that fill the memory with half messages could starve an honest write.
TEST_F(ServerTest, TheConnectionThatHoldsMostIsCut) {
  Start();
  const std::string whole = EncodeFrame({"6", "@x", "@", std::string(kMaxMindSporeBodyBytes, 'x')});
  std::vector<std::unique_ptr<Client>> hoarders;
  for (size_t left = kMaxMindSporeInputBytes - 30'000; left > 0;) {
    const size_t share = std::min(left, whole.size() - 1);
    hoarders.push_back(std::make_unique<Client>(port_));
    hoarders.back()->Send(whole.substr(0, share));
    left -= share;
  }
  Client honest(port_);
  for (int turn = 0; turn < 300; ++turn) {  // in each turn the server reads 16 KiB of every client that hoards
    honest.Ask("2", Id("n1"));
    ASSERT_TRUE(honest.Receive());
  }
  const std::string value(60'000, 'v');
  honest.Ask("6", Pair("key", value));
  cluster_.AwaitClosed(1);
  honest.Ask("7", Pair("key", ""));
  const auto reply = honest.Receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, Pair("key", value));
}

TEST_F(ServerTest, APortIsFreeWhenItIsNoLongerListenedOn) {
  Start();
  const IpAddress address = *IpAddress::Parse("127.0.0.1");
  for (int i = 0; i < 100; ++i) {
    server_->StopListening(0);
    ASSERT_TRUE(server_->Listen(address, port_, 0).ok()) << i;
  }
}

TEST_F(ServerTest, ForeignAddressesAreClosed) {
  TcpServerOptions options;
  options.why_not = [](const SocketAddress&, const SocketAddress&) { return std::string("foreign"); };
  Start(std::move(options));
  Client client(port_);
  client.Ask("2", Id("n1"));
  EXPECT_TRUE(client.WasClosed());
}

TEST_F(ServerTest, BeyondItsLimitNoClientIsServed) {
  TcpServerOptions options;
  options.max_connections = 2;
  Start(std::move(options));
  Client first(port_);
  first.Ask("2", Id("n1"));
  ASSERT_TRUE(first.Receive());
  Client second(port_);
  second.Ask("2", Id("n2"));
  ASSERT_TRUE(second.Receive());
  Client third(port_);
  EXPECT_TRUE(third.WasClosed());
  first.Ask("2", Id("n1"));
  EXPECT_TRUE(first.Receive());
}

TEST_F(ServerTest, AKeyThatAllWaitForIsWaitedFor) {
  Start();
  Client reader(port_);
  reader.Ask("7", Pair("MCCL_COLLECTIVE_RANK_MS_WORKER_0", ""));
  Client writer(port_);
  writer.Ask("6", Pair("MCCL_COLLECTIVE_RANK_MS_WORKER_0", "1.2.3.4:5"));
  const auto reply = reader.Receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, Pair("MCCL_COLLECTIVE_RANK_MS_WORKER_0", "1.2.3.4:5"));
}

// A write just before the end of a connection still counts.
TEST_F(ServerTest, AWriteAndGone) {
  Start();
  for (int i = 0; i < 20; ++i) {
    Client client(port_);
    client.Ask("6", Pair("MCCL_COLLECTIVE_RANK_" + std::to_string(i), "v"));
  }
  Client reader(port_);
  for (int i = 0; i < 20; ++i) {
    reader.Ask("7", Pair("MCCL_COLLECTIVE_RANK_" + std::to_string(i), ""));
    const auto reply = reader.Receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->name, "10");
  }
}

TEST_F(ServerTest, AnIdleConnectionMakesRoom) {
  TcpServerOptions options;
  options.max_connections = 3;
  Start(std::move(options));
  Client beating(port_);
  beating.Ask("2", Id("n1"));
  ASSERT_TRUE(beating.Receive());
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 2; ++i) {
    idle.push_back(std::make_unique<Client>(port_));
    idle.back()->Ask("9", "MS_WORKER");
    ASSERT_TRUE(idle.back()->Receive());
  }
  // Idle connections make room after a second; until then the server accepts no other client.
  bool is_served = false;
  const MonotonicTime until = Clock::System().Read().monotonic + absl::Seconds(20);
  while (!is_served && Clock::System().Read().monotonic < until) {
    Client late(port_);
    late.Ask("2", Id("n2"));
    is_served = late.Receive(100).has_value();
  }
  EXPECT_TRUE(is_served);
  EXPECT_TRUE(idle[0]->WasClosed());
  beating.Ask("2", Id("n1"));
  EXPECT_TRUE(beating.Receive());
}

TEST_F(ServerTest, OneAddressDoesNotTakeAllConnections) {
  const auto counted = std::make_shared<CountedLog>(Clock::System());
  TcpServerOptions options;
  options.max_of_each_client = 2;
  options.counted = counted;
  Start(std::move(options));
  Client first(port_);
  first.Ask("2", Id("n1"));
  ASSERT_TRUE(first.Receive());
  Client second(port_);
  second.Ask("2", Id("n2"));
  ASSERT_TRUE(second.Receive());
  Client third(port_);
  EXPECT_TRUE(third.WasClosed());
  EXPECT_EQ(counted->Counts().at("MindSpore: too many connections of one address"), 1U);
}

TEST_F(ServerTest, ForbiddenMetadataIsNotThere) {
  Start();
  Client client(port_);
  client.Ask("6", Pair("forbidden", "value"));
  client.Ask("7", Pair("forbidden", ""));
  EXPECT_EQ(client.Receive()->name, "11");
  client.Ask("6", Pair("key", "value"));
  client.Ask("7", Pair("key", ""));
  EXPECT_EQ(client.Receive()->name, "10");
}

TEST_F(ServerTest, WritesBeyondTheStoresLimitsAreCounted) {
  const auto counted = std::make_shared<CountedLog>(Clock::System());
  TcpServerOptions options;
  options.counted = counted;
  Start(std::move(options));
  Client client(port_);
  for (int i = 0; i < 100; ++i) client.Ask("6", Pair("key", std::string(64 * 1024 + 1, 'x')));
  client.Ask("7", Pair("key", ""));
  EXPECT_EQ(client.Receive()->name, "11");
  EXPECT_EQ(counted->Counts().at("MindSpore: metadata not stored"), 100U);
}

}  // namespace
}  // namespace muster::mindspore
