// Heartbeats by datagram, over real sockets on loopback.
#include "scheduler/heartbeat/datagram_port.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/net/net.h"
#include "scheduler/ingress/listener.h"
#include "tests/unit/rpc/heartbeat_client.h"

namespace muster::scheduler {
namespace {

// Retries, because a port that is free for TCP may be in use for UDP.
uint16_t OpenOnAnyPort(const BindPlan& plan, std::vector<UniqueFd>& sockets) {
  absl::Status last;
  for (int tries = 0; tries < 20; ++tries) {
    const auto listeners = OpenTcpListeners(plan, 0);
    if (!listeners.ok()) break;
    auto opened = OpenDatagramSockets(plan, listeners->front().port);
    last = opened.status();
    if (!opened.ok()) continue;
    sockets = *std::move(opened);
    return listeners->front().port;
  }
  ADD_FAILURE() << last;
  return 0;
}

// Runs with secrets, as with TLS, and without.
class DatagramPortTest : public ::testing::TestWithParam<bool> {
 protected:
  void Open(const BindPlan& plan = {{*IpAddress::Parse("127.0.0.1")}, ""}) {
    std::vector<UniqueFd> sockets;
    ASSERT_NO_FATAL_FAILURE(number_ = OpenOnAnyPort(plan, sockets));
    port_.emplace(std::move(sockets), GetParam(), counted_);
    const absl::Status started =
        port_->Start([this](const HeartbeatReceived& heartbeat, std::function<void()> applied) {
          MutexLock lock(mutex_);
          posted_.push_back(heartbeat);
          changed_.NotifyAll();
          if (applies_at_once_) return applied();
          unapplied_.push_back(std::move(applied));
        });
    ASSERT_TRUE(started.ok()) << started;
  }

  HeartbeatReceived Await(size_t index) {
    const MonotonicTime end = Clock::System().Read().monotonic + absl::Seconds(20);
    MutexLock lock(mutex_);
    while (posted_.size() <= index) {
      const absl::Duration left = end - Clock::System().Read().monotonic;
      if (left <= absl::ZeroDuration()) {
        ADD_FAILURE() << "heartbeat " << index << " never came";
        return {};
      }
      changed_.WaitFor(mutex_, left);
    }
    return posted_[index];
  }
  size_t CountPosted() {
    MutexLock lock(mutex_);
    return posted_.size();
  }
  void Answer(StreamId stream, uint64_t heartbeat_seq, bool expected = true) {
    v1::Acknowledgement acknowledgement;
    acknowledgement.set_heartbeat_seq(heartbeat_seq);
    acknowledgement.set_events_through(11);
    acknowledgement.set_fence_timeout_ms(60'000);
    acknowledgement.set_heartbeat_interval_ms(2'000);
    EXPECT_EQ(port_->Answer(stream, acknowledgement), expected);
  }

  // The port is open at all addresses.
  void ExpectServedAt(const std::string& address) {
    Open(BindPlan{});
    HeartbeatClient client(port_->Admit(5), number_, address);
    client.Send(1);
    Await(0);
    Answer(5, 1);
    EXPECT_TRUE(client.Receive());
  }

  CountedLog counted_{Clock::System()};
  uint16_t number_ = 0;
  Mutex mutex_;
  CondVar changed_;
  bool applies_at_once_ = true;
  std::vector<HeartbeatReceived> posted_;
  std::deque<std::function<void()>> unapplied_;
  std::optional<DatagramPort> port_;  // the last member: its thread calls back
};

TEST_P(DatagramPortTest, AHeartbeatAndItsAnswer) {
  Open();
  const v1::DatagramOffer offer = port_->Admit(5);
  HeartbeatClient client(offer, number_);
  client.Send(7, 30'000);
  const HeartbeatReceived heartbeat = Await(0);
  EXPECT_EQ(heartbeat.stream, 5u);
  EXPECT_EQ(heartbeat.heartbeat_seq, 7u);
  EXPECT_EQ(heartbeat.armed_fence_ms, 30'000u);
  EXPECT_EQ(offer.is_secret(), GetParam());
  Answer(5, 7);
  const auto answer = client.Receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stream, 5u);
  EXPECT_EQ(answer->heartbeat_seq, 7u);
  EXPECT_EQ(answer->events_through, 11u);
  EXPECT_EQ(answer->fence_timeout_ms, 60'000u);
  EXPECT_EQ(answer->heartbeat_interval_ms, 2'000u);
  Answer(5, 7, false);  // only one
}

TEST_P(DatagramPortTest, WhatCameOverTheStreamIsAnsweredThere) {
  Open();
  const v1::DatagramOffer offer = port_->Admit(5);
  Answer(5, 1, false);
  Answer(6, 1, false);
  HeartbeatClient client(offer, number_);
  client.Send(7);
  Await(0);
  Answer(5, 6, false);
  Answer(5, 7);
}

TEST_P(DatagramPortTest, ARepeatedOrLateOneIsNoSignOfLife) {
  Open();
  const v1::DatagramOffer offer = port_->Admit(5);
  HeartbeatClient client(offer, number_);
  const std::string recorded = client.Sealed(7);
  client.SendBytes(recorded);
  Await(0);
  client.SendBytes(recorded);
  client.Send(6);
  client.Send(8);
  EXPECT_EQ(Await(1).heartbeat_seq, 8u);
  EXPECT_EQ(CountPosted(), 2u);
}

TEST_P(DatagramPortTest, AnUnsealedDatagramIsIgnoredCountedAndNotAnswered) {
  Open();
  const v1::DatagramOffer offer = port_->Admit(5);
  const v1::DatagramOffer other = port_->Admit(6);
  HeartbeatClient client(offer, number_);
  v1::DatagramOffer stolen = offer;
  stolen.set_key(other.key());
  const std::vector<std::string> strange = {HeartbeatClient(stolen, number_).Sealed(1), "GET / HTTP/1.1",
                                            std::string(60'000, 'x'), client.Sealed(2) + "x"};
  for (size_t i = 0; i < strange.size(); ++i) {
    client.SendBytes(strange[i]);
    client.Send(10 + i);  // the thread takes them in order, and counts each time that it takes any
    EXPECT_EQ(Await(i).heartbeat_seq, 10 + i);
    EXPECT_EQ(counted_.Counts()["strange datagram"], i + 1);
  }
  client.SendBytes("");
  client.Send(100);
  EXPECT_EQ(Await(strange.size()).heartbeat_seq, 100u);
  EXPECT_EQ(counted_.Counts()["strange datagram"], strange.size()) << "a question whether the port is open is none";
  EXPECT_EQ(CountPosted(), strange.size() + 1);
  EXPECT_FALSE(client.HasAnswer());
}

TEST_P(DatagramPortTest, AStreamThatHasEndedIsUnknown) {
  Open();
  const v1::DatagramOffer offer = port_->Admit(5);
  HeartbeatClient client(offer, number_);
  client.Send(1);
  Await(0);
  port_->Forget(5);
  EXPECT_EQ(port_->size(), 0u);
  Answer(5, 1, false);
  client.Send(2);
  // The same number with another key: nothing sealed with the old one opens.
  const v1::DatagramOffer again = port_->Admit(5);
  EXPECT_NE(again.key(), offer.key());
  client.Send(3);
  client.SendBytes(HeartbeatClient(again, number_).Sealed(4));
  EXPECT_EQ(Await(1).heartbeat_seq, 4u);
}

TEST_P(DatagramPortTest, OneUnappliedHeartbeatForEachStream) {
  applies_at_once_ = false;
  Open();
  const v1::DatagramOffer offer = port_->Admit(5);
  const v1::DatagramOffer other = port_->Admit(6);
  HeartbeatClient client(offer, number_);
  for (uint64_t seq = 1; seq <= 100; ++seq) client.Send(seq);
  client.SendBytes(HeartbeatClient(other, number_).Sealed(1));
  EXPECT_EQ(Await(1).stream, 6u);
  EXPECT_EQ(CountPosted(), 2u);
  {
    MutexLock lock(mutex_);
    unapplied_.front()();
  }
  client.Send(101);
  EXPECT_EQ(Await(2).heartbeat_seq, 101u);
}

TEST_P(DatagramPortTest, TheAnswerComesFromTheAddressThatWasAsked) {
  // A connected socket accepts nothing from another address. Without a choice the kernel would answer from 127.0.0.1.
  ExpectServedAt("127.0.0.2");
}

TEST_P(DatagramPortTest, BothFamiliesAreServed) {
  if (OpenDatagramsTowards(*IpAddress::Parse("::1"), 9).get() < 0) GTEST_SKIP() << "no IPv6 here";
  ExpectServedAt("::1");
}

TEST_P(DatagramPortTest, AFloodKeepsNoAgentOut) {
  Open();
  const v1::DatagramOffer offer = port_->Admit(5);
  HeartbeatClient client(offer, number_);
  HeartbeatClient foreign(offer, number_);
  const std::string forged = foreign.Sealed(1).substr(0, 39) + "x";
  uint64_t seq = 0;
  for (int i = 0; i < 20'000; ++i) {
    foreign.SendBytes(forged);
    if (i % 100 == 0) client.Send(++seq);  // most of them find the queue full
  }
  // A heartbeat gets through, at the latest once the flood is over.
  const size_t before = CountPosted();
  for (int i = 0; i < 1000 && CountPosted() == before; ++i) client.Send(++seq);
  EXPECT_GT(Await(before).heartbeat_seq, 0u);
}

INSTANTIATE_TEST_SUITE_P(Both, DatagramPortTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Secret" : "Plain"; });

TEST(DatagramSockets, ATakenPortIsAnErrorThatNamesIt) {
  const BindPlan loopback{{*IpAddress::Parse("127.0.0.1")}, ""};
  std::vector<UniqueFd> first;
  const uint16_t port = OpenOnAnyPort(loopback, first);
  const auto second = OpenDatagramSockets(loopback, port);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(std::to_string(port)), std::string::npos) << second.status();
}

}  // namespace
}  // namespace muster::scheduler
