// The acceptor over real loopback sockets, without gRPC: connections that it hands over go to a list.
#include "scheduler/ingress/acceptor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "scheduler/ingress/first_bytes.h"
#include "tests/unit/common/times.h"
#include "tests/unit/rpc/test_client_socket.h"

namespace muster::scheduler {
namespace {

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class HandedOver {
 public:
  void Add(NamedConnection connection, UniqueFd fd) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    connections_[std::move(connection.peer)] = {connection.id, std::move(fd)};
    changed_.notify_all();
  }
  bool Await(size_t count, std::chrono::milliseconds patience = kPatience) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return count_ >= count; });
  }
  size_t count() {
    std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  // 0: there is no connection of this peer.
  uint64_t IdOf(const std::string& peer) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = connections_.find(peer);
    return found == connections_.end() ? 0 : found->second.first;
  }
  // Closes one connection, or all; returns their numbers.
  std::vector<uint64_t> Close(uint64_t only = 0) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<uint64_t> closed;
    for (auto it = connections_.begin(); it != connections_.end();) {
      if (only != 0 && it->second.first != only) {
        ++it;
        continue;
      }
      closed.push_back(it->second.first);
      it = connections_.erase(it);
      --count_;
    }
    return closed;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::pair<uint64_t, UniqueFd>> connections_;  // by peer
  size_t count_ = 0;
};

Acceptor::Options Limits(size_t limit, absl::Duration silence) {
  Acceptor::Options options;
  options.table = {
      .limit = limit, .silence_limit = silence, .crowded_silence_limit = silence, .call_limit = absl::Seconds(20)};
  options.descriptor_bound = 100'000;
  return options;
}

class AcceptorTest : public ::testing::Test {
 protected:
  void Start(Acceptor::Options options) {
    auto listeners = OpenTcpListeners(BindPlan{{*IpAddress::Parse("127.0.0.1")}, ""}, 0);
    ASSERT_TRUE(listeners.ok()) << listeners.status();
    port_ = listeners->front().port;
    acceptor_ = std::make_unique<Acceptor>(
        *std::move(listeners), options,
        Acceptor::Hooks{
            .hand_over = [this](NamedConnection one, UniqueFd fd) { handed_over_.Add(std::move(one), std::move(fd)); },
            .hand_over_unix = [](const UniqueFd&) { ADD_FAILURE() << "there is no such listener"; },
            .cut = [this](uint64_t id) { handed_over_.Close(id); }},
        Clock::System(), counted_);
    ASSERT_TRUE(acceptor_->Start().ok());
  }
  void TakeTheOnlyPlace(UniqueFd& client) {
    Start(Limits(1, absl::Seconds(20)));
    client = ConnectTcp(port_);
    ASSERT_TRUE(SendBytes(client, kPreface));
    ASSERT_TRUE(handed_over_.Await(1));
  }
  uint64_t Count(const std::string& kind) { return counted_.Counts()[kind]; }
  bool AwaitCount(const std::string& kind, uint64_t wanted) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (Count(kind) < wanted) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  uint64_t IdOf(const UniqueFd& client) {
    sockaddr_in own{};
    socklen_t length = sizeof(own);
    getsockname(client.get(), reinterpret_cast<sockaddr*>(&own), &length);
    return handed_over_.IdOf(absl::StrCat("127.0.0.1:", ntohs(own.sin_port)));
  }
  // Does what the relay does when gRPC closes them.
  void CloseAll() {
    for (const uint64_t id : handed_over_.Close()) acceptor_->NoteClosed(id);
  }

  CountedLog counted_{Clock::System()};
  HandedOver handed_over_;
  uint16_t port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, HandsOverWhatSpeaksHttp2) {
  Start(Limits(8, absl::Seconds(20)));
  const UniqueFd client = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(client, kPreface));
  EXPECT_TRUE(handed_over_.Await(1));
}

TEST_F(AcceptorTest, WaitsForTheFirstByte) {
  Start(Limits(8, absl::Seconds(20)));
  const UniqueFd silent = ConnectTcp(port_);
  const UniqueFd talker = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(talker, kPreface));
  ASSERT_TRUE(handed_over_.Await(1));
  EXPECT_EQ(handed_over_.count(), 1u);
  ASSERT_TRUE(SendBytes(silent, "PRI"));
  EXPECT_TRUE(handed_over_.Await(2)) << "a beginning of the preface is enough";
}

TEST_F(AcceptorTest, DropsGarbageAndCountsIt) {
  Start(Limits(8, absl::Seconds(20)));
  for (int i = 0; i < 3; ++i) {
    const UniqueFd client = ConnectTcp(port_);
    ASSERT_TRUE(SendBytes(client, "GET / HTTP/1.1\r\n\r\n"));
    EXPECT_TRUE(AwaitHangUp(client));
  }
  EXPECT_EQ(Count("foreign protocol"), 3u);
  EXPECT_EQ(handed_over_.count(), 0u);
}

TEST_F(AcceptorTest, DropsTlsWhereItSpeaksPlainText) {
  Start(Limits(8, absl::Seconds(20)));
  const UniqueFd client = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(client, std::string("\x16\x03\x01\x00\x05", 5)));
  EXPECT_TRUE(AwaitHangUp(client));
  EXPECT_EQ(Count("foreign protocol"), 1u);
}

TEST_F(AcceptorTest, DropsTheSilentOnesAndCountsThem) {
  Start(Limits(8, absl::Milliseconds(50)));
  const UniqueFd client = ConnectTcp(port_);
  EXPECT_TRUE(AwaitHangUp(client));
  EXPECT_EQ(Count("idle connection"), 1u);
}

TEST_F(AcceptorTest, OneThatHangsUpAtOnceLeavesNoTrace) {
  Start(Limits(1, absl::Seconds(20)));
  ConnectTcp(port_).reset();
  const UniqueFd client = ConnectTcp(port_);  // takes the only place
  ASSERT_TRUE(SendBytes(client, kPreface));
  EXPECT_TRUE(handed_over_.Await(1));
  EXPECT_EQ(Count("idle connection"), 0u);
}

TEST_F(AcceptorTest, TheRestWaitsForItsTurnUntilACallComes) {
  UniqueFd first;
  ASSERT_NO_FATAL_FAILURE(TakeTheOnlyPlace(first));
  const UniqueFd second = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(second, kPreface));
  EXPECT_FALSE(handed_over_.Await(2, std::chrono::milliseconds(300))) << "the table is full";
  acceptor_->NoteCall(IdOf(first));
  EXPECT_TRUE(handed_over_.Await(2));
}

TEST_F(AcceptorTest, AWaitingConnectionThatHangsUpIsPassedOver) {
  UniqueFd first;
  ASSERT_NO_FATAL_FAILURE(TakeTheOnlyPlace(first));
  {
    const UniqueFd impatient = ConnectTcp(port_);
    ASSERT_TRUE(SendBytes(impatient, kPreface));
  }
  const UniqueFd patient = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(patient, kPreface));
  acceptor_->NoteCall(IdOf(first));
  ASSERT_TRUE(handed_over_.Await(2));
  EXPECT_NE(IdOf(patient), 0u);
  EXPECT_EQ(Count("hung up while waiting"), 1u);
}

TEST_F(AcceptorTest, OfTooManyThatWaitTheLastOnesAreDropped) {
  Acceptor::Options options = Limits(1, absl::Seconds(20));
  options.table.most_waiting = 2;
  Start(options);
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(ConnectTcp(port_));
    ASSERT_TRUE(SendBytes(clients.back(), kPreface));
    if (i == 0) {
      ASSERT_TRUE(handed_over_.Await(1));
    }
  }
  EXPECT_TRUE(AwaitCount("crowded out while waiting", 2));
  for (size_t i = 0; i < 2; ++i) {
    acceptor_->NoteCall(IdOf(clients[i]));
    EXPECT_TRUE(handed_over_.Await(i + 2));
  }
}

TEST_F(AcceptorTest, AConnectionThatIsGoneMakesRoom) {
  UniqueFd first;
  ASSERT_NO_FATAL_FAILURE(TakeTheOnlyPlace(first));
  const UniqueFd second = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(second, kPreface));
  CloseAll();  // what gRPC does with a connection that it closes
  EXPECT_TRUE(handed_over_.Await(1));
  EXPECT_EQ(Count("ended without a call"), 1u);
}

// gRPC would keep the connection as long as a call is open on it, however few of the call's bytes have come.
TEST_F(AcceptorTest, OneThatMakesNoCallIsUnjoined) {
  Acceptor::Options options = Limits(8, absl::Seconds(20));
  options.table.call_limit = absl::Milliseconds(100);
  options.unjoined.limit = 0;
  Start(options);
  const UniqueFd mute = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(mute, kPreface));
  ASSERT_TRUE(handed_over_.Await(1));
  EXPECT_TRUE(AwaitHangUp(mute));
  EXPECT_TRUE(AwaitCount("mute connection", 1));
  EXPECT_TRUE(AwaitCount("crowded out connection", 1));
}

TEST_F(AcceptorTest, ACalmUnjoinedOneIsBroken) {
  Acceptor::Options options = Limits(8, absl::Seconds(20));
  options.unjoined.calm_limit = absl::Milliseconds(100);
  Start(options);
  const UniqueFd calm = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(calm, kPreface));
  ASSERT_TRUE(handed_over_.Await(1));
  acceptor_->NoteCall(IdOf(calm));
  EXPECT_TRUE(AwaitHangUp(calm));
  EXPECT_TRUE(AwaitCount("calm connection", 1));
}

TEST_F(AcceptorTest, ThoseThatDoNotJoinMakeRoomForOthers) {
  Acceptor::Options options = Limits(8, absl::Seconds(20));
  options.unjoined.limit = 2;
  Start(options);
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < 4; ++i) {
    clients.push_back(ConnectTcp(port_));
    ASSERT_TRUE(SendBytes(clients.back(), kPreface));
    ASSERT_TRUE(handed_over_.Await(i + 1));
    acceptor_->NoteCall(IdOf(clients.back()));
    if (i == 0) acceptor_->NoteJoined(IdOf(clients.back()));
  }
  EXPECT_TRUE(AwaitHangUp(clients[1]));
  EXPECT_TRUE(AwaitCount("crowded out connection", 1));
  for (const size_t stays : {0u, 2u, 3u}) EXPECT_TRUE(SendBytes(clients[stays], "x")) << stays;
}

TEST_F(AcceptorTest, AFloodOfIdleConnectionsDoesNotBlockIt) {
  Start(Limits(16, absl::Milliseconds(100)));
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(ConnectTcp(port_));
  const UniqueFd honest = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(honest, kPreface));
  EXPECT_TRUE(handed_over_.Await(1));
  flood.clear();
  const UniqueFd later = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(later, kPreface));
  EXPECT_TRUE(handed_over_.Await(2));
}

TEST_F(AcceptorTest, KeepsDescriptorsInReserve) {
  Acceptor::Options options = Limits(1'000, absl::Seconds(20));
  std::vector<UniqueFd> ballast;
  Start(options);
  acceptor_.reset();
  // Allows ten more than are in use now.
  const UniqueFd probe(dup(0));
  options.descriptor_bound = static_cast<size_t>(probe.get()) + 10;
  Start(options);
  std::vector<UniqueFd> clients;  // each takes a number on both sides
  for (int i = 0; i < 20; ++i) {
    clients.push_back(ConnectTcp(port_));
    ASSERT_TRUE(SendBytes(clients.back(), kPreface));
  }
  EXPECT_TRUE(AwaitCount("no descriptors", 1));
  EXPECT_LT(handed_over_.count(), 20u);
  clients.clear();
  CloseAll();
  const UniqueFd later = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(later, kPreface));
  EXPECT_TRUE(handed_over_.Await(1)) << "it listens again when there is room";
}

TEST_F(AcceptorTest, StopClosesTheListenersAndTheSilentOnes) {
  Start(Limits(8, absl::Seconds(20)));
  const UniqueFd silent = ConnectTcp(port_);
  const UniqueFd talker = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(talker, kPreface));
  ASSERT_TRUE(handed_over_.Await(1));  // so the silent one was accepted, too
  acceptor_->Stop();
  EXPECT_TRUE(AwaitHangUp(silent));
  EXPECT_FALSE(ConnectTcp(port_).is_open());
}

TEST(Descriptors, AHighNumberSaysThatManyAreInUse) {
  EXPECT_TRUE(HasDescriptorBelow(1'000'000));
  EXPECT_FALSE(HasDescriptorBelow(0));
}

}  // namespace
}  // namespace muster::scheduler
