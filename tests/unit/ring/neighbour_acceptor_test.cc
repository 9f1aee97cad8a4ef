// Checks which connections a rank's listener accepts while many unknown clients connect. One thread fixes the order of
// events.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <utility>
#include <vector>

#include "ring/neighbours.h"
#include "tests/unit/ring/ring_fixture.h"

namespace muster::ring {
namespace {

constexpr int kCrowd = 200;

class NeighbourAcceptorTest : public RingFixture {
 protected:
  // Opens rank 0's listener, which accepts rank 1.
  void Open(bool is_secure, const char* neighbour = "127.0.0.1") {
    std::signal(SIGPIPE, SIG_IGN);  // as in ms-ring
    Make(2, is_secure);
    plans_[0].peers[1].address = *IpAddress::Parse(neighbour);
    for (Plan& plan : plans_) {
      if (is_secure) tls_.push_back(*RingTls::Create(states_[plan.rank], plan, now_));
      meetings_.push_back({&plan, is_secure ? tls_.back().get() : nullptr, 4, absl::Seconds(5), 5});
    }
    auto acceptor = NeighbourAcceptor::Listen(meetings_[0]);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }

  UniqueFd ConnectFrom(const char* source) {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, source, &address.sin_addr);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    address.sin_port = htons(ports_[0]->port());
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  void Step() { acceptor_->Step(Clock::System().Read().monotonic); }

  // kCrowd unknown clients connect and send `words`.
  void Crowd(const std::string& words, const char* source = "127.0.0.1") {
    for (int i = 0; i < kCrowd; ++i) {
      others_.push_back(ConnectFrom(source));
      if (!words.empty()) (void)send(others_.back().get(), words.data(), words.size(), MSG_NOSIGNAL);
      Step();
    }
  }

  // Rank 1 goes on until it is accepted, for at most two seconds.
  bool GetsIn(Dialer& dialer) {
    for (int i = 0; i < 2000; ++i) {
      dialer.Step(Clock::System().Read().monotonic);
      Step();
      if (acceptor_->TakeLink() != nullptr) return true;
      std::vector<pollfd> fds;
      dialer.AddTo(fds);
      acceptor_->AddTo(fds);
      poll(fds.data(), fds.size(), 1);
    }
    return false;
  }

  std::vector<std::unique_ptr<RingTls>> tls_;
  std::vector<Meeting> meetings_;
  std::unique_ptr<NeighbourAcceptor> acceptor_;
  std::vector<UniqueFd> others_;
};

// The first bytes of a TLS client.
std::string ClientHello() {
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  SslPtr ssl(SSL_new(context.get()));
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), in, out);
  SSL_connect(ssl.get());
  std::string bytes(4096, '\0');
  bytes.resize(static_cast<size_t>(std::max(0, BIO_read(out, bytes.data(), static_cast<int>(bytes.size())))));
  return bytes;
}

TEST_F(NeighbourAcceptorTest, SilentClientsDoNotPushOutTheNeighbourInItsHandshake) {
  Open(true);
  Dialer dialer(meetings_[1], Clock::System().Read().monotonic);
  for (int i = 0; i < 50; ++i) {  // until it has sent its first bytes
    dialer.Step(Clock::System().Read().monotonic);
    std::vector<pollfd> fds;
    dialer.AddTo(fds);
    poll(fds.data(), fds.size(), 1);
  }
  Step();  // the listener answers them
  Crowd("");
  EXPECT_GT(acceptor_->refused(), 0) << "the crowd is bounded";
  EXPECT_TRUE(GetsIn(dialer));
  EXPECT_FALSE(dialer.failure()) << "at the first attempt: " << dialer.failure()->detail;
}

TEST_F(NeighbourAcceptorTest, ClientsFromElsewhereDoNotPushOutThePossibleNeighbour) {
  for (const bool is_secure : {false, true}) {
    SCOPED_TRACE(is_secure);
    tls_.clear();
    meetings_.clear();
    ports_.clear();
    states_.clear();
    Open(is_secure, "127.0.0.2");
    const UniqueFd neighbour = ConnectFrom("127.0.0.2");
    Step();
    Crowd(is_secure ? ClientHello() : "", "127.0.0.1");
    char byte = 0;
    const bool is_there = recv(neighbour.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    EXPECT_TRUE(is_there) << "it was sent away";
    others_.clear();
  }
}

TEST_F(NeighbourAcceptorTest, ANewClientIsReadHoweverManyWait) {
  Open(true);
  Crowd(ClientHello());
  Dialer dialer(meetings_[1], Clock::System().Read().monotonic);
  EXPECT_TRUE(GetsIn(dialer));
}

}  // namespace
}  // namespace muster::ring
