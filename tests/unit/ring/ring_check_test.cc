// Whole rings over loopback, one thread a rank, good and bad.
#include "worker_agent/ring/ring_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/tls/key_material.h"
#include "ctl/certs/authority.h"
#include "worker_agent/ring/sockets.h"

namespace muster::ring {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A port that is ours until the end, as the agent holds it.
class HeldPort {
 public:
  HeldPort() {
    fd_ = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int off = 0;
    setsockopt(fd_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin6_port);
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  }
  ~HeldPort() { close(fd_); }
  uint16_t port() const { return port_; }

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
};

class RingTest : public testing::Test {
 protected:
  void Make(uint32_t size, bool is_secure) {
    authority_ = std::make_unique<certs::Authority>(*certs::Authority::Create("muster", now_, absl::Hours(24)));
    Plan plan;
    plan.job_id = "job";
    plan.run = plan.round = 1;
    plan.is_secure = is_secure;
    for (uint32_t rank = 0; rank < size; ++rank) {
      ports_.push_back(std::make_unique<HeldPort>());
      Peer peer;
      peer.rank = rank;
      peer.host = "h" + std::to_string(rank);
      peer.address = *IpAddress::Parse("127.0.0.1");
      peer.port = ports_.back()->port();
      if (is_secure) {
        states_.push_back(NewState(rank));
        peer.fingerprint = states_.back()->identity->leaf().Fingerprint();
      }
      plan.peers.push_back(peer);
    }
    plans_.assign(size, plan);
    for (uint32_t rank = 0; rank < size; ++rank) plans_[rank].rank = rank;
    options_.bytes = 64 * 1024;
    options_.connect_timeout = absl::Seconds(20);
    options_.slow_factor = 0;  // the machine may be busy with something else
  }

  std::shared_ptr<const TlsState> NewState(uint32_t rank) {
    const auto issued =
        authority_->Issue(*certs::NodeSubject("muster", "*", std::to_string(rank)), now_, absl::Hours(1));
    const std::string chain = certs::CertificatePem(issued->certificate.get());
    auto state = std::make_shared<TlsState>();
    state->identity =
        std::make_shared<KeyMaterial>(*ParsePem(chain, certs::PrivateKeyPem(issued->key.get()), Secret()));
    state->trust = BuildTrust(*ParseCertificates(authority_->CertificateText()), false, {});
    return state;
  }

  // Rank `rank` shows another certificate than the list has for it. What it knows of itself is the list's, too.
  void SwapCertificate(uint32_t rank) {
    states_[rank] = NewState(rank);
    plans_[rank].peers[rank].fingerprint = states_[rank]->identity->leaf().Fingerprint();
  }

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

  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  std::unique_ptr<certs::Authority> authority_;
  std::vector<std::unique_ptr<HeldPort>> ports_;
  std::vector<std::shared_ptr<const TlsState>> states_;
  std::vector<Plan> plans_;
  RingOptions options_;
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
  SwapCertificate(2);
  const auto results = Run();
  for (uint32_t rank = 0; rank < 5; ++rank) {
    const auto texts = Texts(results[rank]);
    if (rank == 2) {  // nobody talks to it: it knows only that it isn't taken
      EXPECT_FALSE(results[rank].IsGood());
      continue;
    }
    ASSERT_EQ(texts.size(), 2u) << rank << ": " << testing::PrintToString(texts);
    EXPECT_THAT(texts[0], HasSubstr("rank 1 on h1 -> rank 2 on h2"));
    EXPECT_THAT(texts[0], HasSubstr("wrong certificate: it shows "));
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
  Make(2, true);
  options_.connect_timeout = absl::Seconds(3);
  plans_[1].is_secure = false;
  const auto results = Run();
  EXPECT_FALSE(results[0].IsGood());
  EXPECT_FALSE(results[1].IsGood());
}

TEST_F(RingTest, StrangersAtTheDoorDoNoHarm) {
  Make(3, true);
  std::atomic<bool> is_over{false};
  std::thread stranger([&] {
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
  stranger.join();
}

// Says hello as rank 1 of a plain ring of two, then sends `bytes` and waits.
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
  for (int i = 0; i < 3000 && !previous.is_open(); ++i) {
    previous = AcceptOne(listener->get(), &from);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(previous.is_open());
  (void)send(previous.get(), hello_of(0).data(), hello_of(0).size(), MSG_NOSIGNAL);
  next = StartConnecting(plan.peers[0].address, plan.peers[0].port, &error);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string all = hello_of(1) + bytes;
  (void)send(next.get(), all.data(), all.size(), MSG_NOSIGNAL);
  char sink[4096];
  for (int i = 0; i < 5000; ++i) {  // until the other side has had enough
    if (recv(next.get(), sink, sizeof(sink), 0) == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(RingTest, WhatABadNeighbourSendsEndsTheCheckInWords) {
  const std::string endless = EncodeHeader(FrameType::kChunk, kMaxChunkBytes) + std::string(100'000, 'x');
  const std::string records(60, '\xff');
  const std::vector<std::string> sent = {
      std::string(1000, '\0'),
      "GET / HTTP/1.1\r\n\r\n",
      endless,
      EncodeHeader(FrameType::kToken, 0) + EncodeHeader(FrameType::kRecord, records.size()) + records,
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

}  // namespace
}  // namespace muster::ring
