// Handshakes that never end or are slow: other peers must not notice them.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <thread>

#include "tests/tls/server/joined_agents.h"
#include "tests/tls/server/tls_server_fixture.h"

namespace muster::scheduler {
namespace {

using testing_tls::HelloOf;

// A node that waits longer for an answer considers another connection.
constexpr absl::Duration kMaxBeat = absl::Seconds(2);

constexpr unsigned int kPendingPerCore = 16;

class SlowHandshakeTest : public TlsServerTest {
 protected:
  void Limit(absl::Duration handshake_limit) {
    RpcServer::Options options;
    options.pending_per_core = kPendingPerCore;
    options.handshake_limit = handshake_limit;
    Start(std::move(options));
  }
  std::unique_ptr<UniqueFd> Dial() {
    auto fd = std::make_unique<UniqueFd>(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    EXPECT_EQ(connect(fd->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  // The joined agents go on with heartbeats until `end` is ready. None may have waited long for an answer.
  template <typename End>
  void ServeUntil(const End& end, JoinedAgents& agents) {
    while (end.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready && !HasFatalFailure())
      agents.Beat();
    EXPECT_GT(agents.heartbeats(), 50u);
    EXPECT_LT(agents.longest(), kMaxBeat);
  }
};

// Returns true once the other side has closed; waits for at most `patience`.
bool IsClosed(int fd, absl::Duration patience) {
  pollfd waited{fd, POLLIN | POLLRDHUP, 0};
  return poll(&waited, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) == 1 &&
         (waited.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

TEST_F(SlowHandshakeTest, EverybodyIsServedDuringAndAfterAFloodOfHalfHandshakes) {
  Limit(absl::Seconds(1));
  JoinedAgents agents(loop_, server_->sink());
  for (const std::string id : {"a", "b", "c"}) {
    ASSERT_NO_FATAL_FAILURE(agents.Join(Channel(Node(id)), id, std::chrono::seconds(100)));
  }
  std::vector<std::unique_ptr<UniqueFd>> half;
  const unsigned int twice_the_limit = 2 * kPendingPerCore * std::max(1u, std::thread::hardware_concurrency());
  for (unsigned int i = 0; i < std::max(200u, twice_the_limit); ++i) {
    half.push_back(Dial());
    // A record that announces 512 bytes and has 4.
    ASSERT_EQ(send(half.back()->get(), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9, MSG_NOSIGNAL), 9);
  }
  // The new client waits its turn after them; the raw client gives up after 10 s.
  auto is_let_in = std::async(std::launch::async, [&] {
    for (int i = 0; i < 6; ++i) {
      if (Connect(Node("n1")).is_let_in) return true;
    }
    return false;
  });
  ServeUntil(is_let_in, agents);
  EXPECT_TRUE(is_let_in.get()) << "during the flood";
  half.clear();
  EXPECT_TRUE(Connect(Node("n1")).is_let_in) << "after it";
}

TEST_F(SlowHandshakeTest, AHelloByteByByteIsCutAtTheLimitWhileOthersAreServed) {
  Limit(absl::Seconds(2));
  JoinedAgents agents(loop_, server_->sink());
  ASSERT_NO_FATAL_FAILURE(agents.Join(Channel(Node("a")), "a", std::chrono::seconds(100)));
  const std::string hello = HelloOf({0xc02b, 0xc02f});
  const absl::Duration pause = absl::Seconds(8) / static_cast<int64_t>(hello.size());
  size_t sent = 0;
  const std::shared_future<absl::Duration> cut = std::async(std::launch::async, [&] {
    const MonotonicTime begin = Clock::System().Read().monotonic;
    const auto fd = Dial();
    absl::Duration lasted;
    do {
      if (sent < hello.size()) (void)send(fd->get(), &hello[sent++], 1, MSG_NOSIGNAL);
      lasted = Clock::System().Read().monotonic - begin;
    } while (!IsClosed(fd->get(), pause) && lasted < absl::Seconds(20));
    return lasted;
  });
  const auto others = std::async(std::launch::async, [&] {
    while (cut.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
      EXPECT_TRUE(Connect(Node("n1")).is_let_in);
    }
  });
  ServeUntil(cut, agents);
  EXPECT_GE(cut.get(), absl::Seconds(1.5)) << "it had its time";
  EXPECT_LE(cut.get(), absl::Seconds(4));
  EXPECT_LT(sent, hello.size()) << "it was cut in the middle";
}

}  // namespace
}  // namespace muster::scheduler
