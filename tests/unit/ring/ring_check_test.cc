// Whole rings over loopback, good and bad, with one thread for each rank.
#include "ring/ring_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ring/sockets.h"
#include "tests/unit/ring/ring_fixture.h"

namespace muster::ring {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RingTest : public RingFixture {
 protected:
  std::vector<RingResult> Run(const std::vector<uint32_t>& absent = {}) {
    std::vector<RingResult> results(plans_.size());
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < plans_.size(); ++rank) {
      if (std::find(absent.begin(), absent.end(), rank) != absent.end()) continue;
      threads.emplace_back([this, rank, &results] {
        std::unique_ptr<RingTls> tls;
        if (plans_[rank].is_secure) tls = *RingTls::Create(states_[rank], plans_[rank], now_);
        auto check = RingCheck::Create(plans_[rank], tls.get(), options_, Clock::System());
        ASSERT_TRUE(check.ok()) << check.status();
        results[rank] = (*check)->Run();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  std::vector<std::string> Texts(const RingResult& result) {
    std::vector<std::string> texts;
    for (const Fault& fault : result.faults) texts.push_back(FaultText(plans_[0], fault));
    return texts;
  }
};

TEST_F(RingTest, GoodRingsOfManySizes) {
  for (const uint32_t size : {2u, 3u, 8u}) {
    for (const bool is_secure : {false, true}) {
      ports_.clear();
      states_.clear();
      Make(size, is_secure);
      for (const RingResult& result : Run()) {
        EXPECT_THAT(Texts(result), IsEmpty()) << size;
        ASSERT_EQ(result.links.size(), size);
        EXPECT_GT(result.sum_ns, 0u);
        for (const LinkFigures& link : result.links) {
          EXPECT_GT(link.bytes_per_second, 0u);
          EXPECT_GT(link.latency_ns, 0u);
          EXPECT_GE(link.latency_median_ns, link.latency_ns);
        }
      }
    }
  }
}

TEST_F(RingTest, OneRankIsARingOfItsOwn) {
  Make(1, false);
  const auto results = Run();
  EXPECT_TRUE(results[0].IsGood());
  EXPECT_TRUE(results[0].links.empty());
}

TEST_F(RingTest, FewerElementsThanRanks) {
  Make(3, false);
  options_.bytes = 8;
  for (const RingResult& result : Run()) EXPECT_THAT(Texts(result), IsEmpty());
}

TEST_F(RingTest, AWrongCertificateIsNamedByAllRanks) {
  Make(5, true);
  const std::string listed = plans_[0].peers[2].fingerprint;
  SwapCertificate(2);
  const std::string shown = plans_[2].peers[2].fingerprint;
  const auto results = Run();
  for (uint32_t rank = 0; rank < 5; ++rank) {
    const auto texts = Texts(results[rank]);
    if (rank == 2) {  // no rank talks to it: it knows only that none accepts it
      EXPECT_FALSE(results[rank].IsGood());
      continue;
    }
    ASSERT_EQ(texts.size(), 2u) << rank << ": " << testing::PrintToString(texts);
    EXPECT_THAT(texts[0], HasSubstr("rank 1 on h1 -> rank 2 on h2"));
    EXPECT_THAT(texts[0], HasSubstr("wrong certificate: it shows " + shown.substr(0, 16)));
    EXPECT_THAT(texts[0], HasSubstr("listed is " + listed.substr(0, 16)));
    EXPECT_THAT(texts[0], HasSubstr("start its agent again")) << "the remedy";
    EXPECT_THAT(texts[1], HasSubstr("rank 2 on h2 -> rank 3 on h3"));
    EXPECT_THAT(texts[1], HasSubstr("wrong certificate"));
  }
}

TEST_F(RingTest, AnAbsentRankIsNamed) {
  Make(4, true);
  options_.connect_timeout = absl::Seconds(3);
  const auto results = Run({2});
  for (const uint32_t rank : {0u, 1u, 3u}) {
    const auto texts = Texts(results[rank]);
    ASSERT_EQ(texts.size(), 1u) << rank << ": " << testing::PrintToString(texts);
    EXPECT_THAT(texts[0], HasSubstr("rank 1 on h1 -> rank 2 on h2 (127.0.0.1:"));
    EXPECT_THAT(texts[0], HasSubstr("refused"));
  }
}

TEST_F(RingTest, ARankOfAnotherRoundIsNamed) {
  Make(3, false);
  options_.connect_timeout = absl::Seconds(3);
  plans_[1].round = 2;
  const auto results = Run();
  const auto texts = Texts(results[0]);
  ASSERT_FALSE(texts.empty());
  EXPECT_THAT(texts[0], HasSubstr("rank 0 on h0 -> rank 1 on h1"));
  EXPECT_THAT(texts[0], HasSubstr("round 2"));
}

TEST_F(RingTest, TlsAgainstPlainIsNamed) {
  for (const uint32_t plain : {0u, 1u}) {
    ports_.clear();
    states_.clear();
    Make(2, true);
    options_.connect_timeout = absl::Seconds(3);
    plans_[plain].is_secure = false;
    const uint32_t secure = 1 - plain;
    const auto results = Run();
    for (const RingResult& result : results) ASSERT_EQ(result.faults.size(), 1u) << plain;
    const Fault& of_secure = results[secure].faults[0];
    EXPECT_EQ(of_secure.kind, FaultKind::kNotTls);
    EXPECT_EQ(std::pair(of_secure.from, of_secure.to), std::pair(secure, plain));
    EXPECT_THAT(Texts(results[secure])[0], HasSubstr("no TLS: the connection was closed in the TLS handshake"));
    const Fault& of_plain = results[plain].faults[0];
    EXPECT_EQ(of_plain.kind, FaultKind::kWrongPeer);
    EXPECT_EQ(std::pair(of_plain.from, of_plain.to), std::pair(plain, secure));
    EXPECT_THAT(Texts(results[plain])[0], HasSubstr("wrong peer: it refused this rank"));
  }
}

TEST_F(RingTest, OtherClientsDoNoHarm) {
  Make(3, true);
  std::atomic<bool> is_over{false};
  std::thread foreign([&] {
    const std::string garbage(5000, 'x');
    while (!is_over) {
      int error = 0;
      for (const auto& port : ports_) {
        const UniqueFd fd = StartConnecting(*IpAddress::Parse("127.0.0.1"), port->port(), &error);
        if (fd.is_open()) (void)send(fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
      }
      std::this_thread::yield();
    }
  });
  for (const RingResult& result : Run()) EXPECT_THAT(Texts(result), IsEmpty());
  is_over = true;
  foreign.join();
}

bool IsReady(int fd, short events) {
  pollfd waited{fd, events, 0};
  return poll(&waited, 1, 10'000) == 1;
}

// Sends a hello as rank 1 of a plain ring of two, then `bytes`, and waits.
void BadNeighbour(const Plan& plan, uint64_t sum_bytes, const std::string& bytes) {
  absl::StatusOr<UniqueFd> listener = ListenOn(plan.peers[1].port);
  ASSERT_TRUE(listener.ok()) << listener.status();
  int error = 0;
  const Meeting meeting{&plan, nullptr, sum_bytes, absl::Seconds(1)};
  const auto hello_of = [&](uint32_t from) {
    const std::string payload = Encode(HelloFor(meeting, from));
    return EncodeHeader(FrameType::kHello, payload.size()) + payload;
  };
  UniqueFd next;
  UniqueFd previous;
  std::optional<IpAddress> from;
  ASSERT_TRUE(IsReady(listener->get(), POLLIN));
  previous = AcceptOne(listener->get(), &from);
  ASSERT_TRUE(previous.is_open());
  (void)send(previous.get(), hello_of(0).data(), hello_of(0).size(), MSG_NOSIGNAL);
  next = StartConnecting(plan.peers[0].address, plan.peers[0].port, &error);
  ASSERT_TRUE(IsReady(next.get(), POLLOUT));
  const std::string all = hello_of(1) + bytes;
  (void)send(next.get(), all.data(), all.size(), MSG_NOSIGNAL);
  char sink[4096];
  while (IsReady(next.get(), POLLIN) && recv(next.get(), sink, sizeof(sink), 0) > 0) {
  }  // until the other side gives up
}

TEST_F(RingTest, WhatABadNeighbourSendsEndsTheCheckInWords) {
  const std::string endless = EncodeHeader(FrameType::kChunk, kMaxChunkBytes) + std::string(100'000, 'x');
  const std::string records(60, '\xff');
  const std::string early = Encode(Record{0, 1});  // of a stage before the first
  const std::vector<std::string> sent = {
      std::string(1000, '\0'),
      "GET / HTTP/1.1\r\n\r\n",
      endless,
      EncodeHeader(FrameType::kToken, 0) + EncodeHeader(FrameType::kRecord, records.size()) + records,
      EncodeHeader(FrameType::kRecord, early.size()) + early,
      EncodeHeader(FrameType::kFault, 5) + "abcde",
      EncodeHeader(FrameType::kPong, 8) + "12345678",
      EncodeHeader(FrameType::kHello, 1024) + std::string(1024, 'h'),
      "",
  };
  for (const std::string& bytes : sent) {
    ports_.clear();
    Make(2, false);
    options_.connect_timeout = absl::Seconds(4);
    options_.step_timeout = absl::Milliseconds(500);
    std::thread bad([&] { BadNeighbour(plans_[1], options_.bytes, bytes); });
    const auto results = Run({1});
    EXPECT_FALSE(results[0].IsGood()) << bytes.substr(0, 20);
    EXPECT_LT(results[0].took, absl::Seconds(20));
    bad.join();
  }
}

// Counts how often the check reads the time, which it does once in each turn of its loop. Processor time would mean
// little on a busy machine.
class CountingClock : public Clock {
 public:
  Now Read() const override {
    ++reads;
    return Clock::System().Read();
  }
  mutable int reads = 0;
};

void AwaitReady(int fd, short events) {  // NOLINT(google-runtime-int): poll's type
  pollfd waited{fd, events, 0};
  ASSERT_EQ(poll(&waited, 1, 5000), 1);
}

// Rank 1 of a plain ring of two that stops reading. Its other connection breaks off after `bytes`.
void SilentNeighbour(const Plan& plan, const RingOptions& options, const std::string& bytes, bool breaks_off,
                     const std::atomic<bool>& is_over) {
  absl::StatusOr<UniqueFd> listener = ListenOn(plan.peers[1].port);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const Meeting meeting{&plan, nullptr, options.bytes, absl::Seconds(1), options.slow_factor};
  const auto hello_of = [&](uint32_t from) {
    const std::string payload = Encode(HelloFor(meeting, from));
    return EncodeHeader(FrameType::kHello, payload.size()) + payload;
  };
  UniqueFd from_rank_0;
  std::optional<IpAddress> from;
  AwaitReady(listener->get(), POLLIN);
  from_rank_0 = AcceptOne(listener->get(), &from);
  ASSERT_TRUE(from_rank_0.is_open());
  (void)send(from_rank_0.get(), hello_of(0).data(), hello_of(0).size(), MSG_NOSIGNAL);
  int error = 0;
  UniqueFd to_rank_0 = StartConnecting(plan.peers[0].address, plan.peers[0].port, &error);
  AwaitReady(to_rank_0.get(), POLLOUT);
  const std::string all = hello_of(1) + bytes;
  (void)send(to_rank_0.get(), all.data(), all.size(), MSG_NOSIGNAL);
  // No event shows that the other side has read the bytes, and unread ones are lost when the connection breaks off.
  if (breaks_off) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const linger at_once{1, 0};
  setsockopt(to_rank_0.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  if (breaks_off) to_rank_0.reset();
  is_over.wait(false);
}

TEST_F(RingTest, WaitingForAPeerThatReadsNothingTakesNoProcessorTime) {
  const std::string tokens = EncodeHeader(FrameType::kToken, 0) + EncodeHeader(FrameType::kToken, 0);
  const std::string early_chunk = EncodeHeader(FrameType::kChunk, 4096) + std::string(4096, 'x');
  struct Case {
    const char* name;
    std::string bytes;
    bool breaks_off;
  };
  for (const Case& c : {Case{"a part that came too early, then a broken connection", early_chunk, true},
                        Case{"a part that came too early", early_chunk, false},
                        Case{"silence from the first ping on", tokens, false}}) {
    ports_.clear();
    Make(2, false);
    options_.connect_timeout = absl::Seconds(1);
    options_.step_timeout = absl::Seconds(1);
    std::atomic<bool> is_over{false};
    std::thread bad([&] { SilentNeighbour(plans_[1], options_, c.bytes, c.breaks_off, is_over); });
    const CountingClock clock;
    auto check = RingCheck::Create(plans_[0], nullptr, options_, clock);
    ASSERT_TRUE(check.ok()) << check.status();
    const RingResult result = (*check)->Run();
    EXPECT_FALSE(result.IsGood()) << c.name;
    EXPECT_GT(result.took, absl::Seconds(1)) << c.name << ": it waited";
    EXPECT_LT(clock.reads, 5000) << c.name << ": it slept meanwhile";
    is_over = true;
    is_over.notify_one();
    bad.join();
  }
}

}  // namespace
}  // namespace muster::ring
