// Sessions over TLS, with a peer that stops where the test wants it to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "tests/tls/pki.h"
#include "worker_agent/session/session.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

// Accepts one TLS connection, and sends no HTTP/2 until Speak(): until then the dial is in progress.
class MutePeer {
 public:
  explicit MutePeer(const testing_tls::Issued& issued) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    port_ = ntohs(address.sin_port);
    context_.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context_.get(), issued.certificate.get());
    const BioPtr bio = MemoryBio(issued.key_pem);
    const EvpKeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
    SSL_CTX_set_alpn_select_cb(context_.get(), &MutePeer::ChooseHttp2, nullptr);
    thread_ = std::thread([this] { Serve(); });
  }
  ~MutePeer() {
    shutdown(listener_, SHUT_RDWR);
    may_speak_ = true;
    if (const int fd = connection_; fd >= 0) shutdown(fd, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  uint16_t port() const { return port_; }

  // True once the client has checked our certificate and gone on.
  bool WaitUntilTrusted() const {
    for (int i = 0; i < 2000 && !is_trusted_; ++i) absl::SleepFor(absl::Milliseconds(5));
    return is_trusted_;
  }
  void Speak() { may_speak_ = true; }

 private:
  static int ChooseHttp2(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_length, const unsigned char* in,
                         unsigned int in_length, void* /*argument*/) {
    static const unsigned char kHttp2[] = {2, 'h', '2'};
    unsigned char* chosen = nullptr;
    const int result = SSL_select_next_proto(&chosen, out_length, kHttp2, sizeof(kHttp2), in, in_length);
    *out = chosen;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
  }

  void Serve() {
    const int fd = accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    connection_ = fd;
    SSL* ssl = SSL_new(context_.get());
    SSL_set_fd(ssl, fd);
    char buffer[4096];
    if (SSL_accept(ssl) == 1 && SSL_read(ssl, buffer, sizeof(buffer)) > 0) {
      is_trusted_ = true;
      while (!may_speak_) absl::SleepFor(absl::Milliseconds(5));
      const unsigned char settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};  // an empty SETTINGS frame
      SSL_write(ssl, settings, sizeof(settings));
      while (SSL_read(ssl, buffer, sizeof(buffer)) > 0) {
      }
    }
    SSL_free(ssl);
    connection_ = -1;
    close(fd);
  }

  const int listener_;
  uint16_t port_ = 0;
  std::unique_ptr<SSL_CTX, OpenSslDelete<SSL_CTX_free>> context_;
  std::atomic<int> connection_ = -1;
  std::atomic<bool> is_trusted_ = false;
  std::atomic<bool> may_speak_ = false;
  std::thread thread_;
};

class TlsSession : public ::testing::Test {
 protected:
  TlsSession() {
    folder_.Write("ca.crt", authority_.pem());
    folder_.Write("client.pem", authority_.Issue(testing_tls::NodeSpec("n1")).all_pem());
    folder_.Write("crl.pem", authority_.RevocationList({}));
    TlsSettings settings;
    settings.config = folder_.WriteConfig(true);
    auto store = TlsStore::Open({TlsRole::kClient, settings, {}}, Clock::System(), counted_);
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  SessionOptions Towards(uint16_t port) const {
    SessionOptions options;
    options.host = "127.0.0.1";
    options.port = port;
    options.security.tls = store_;
    return options;
  }
  std::function<void(Event)> Deliver() {
    return [this](const Event& event) {
      MutexLock lock(mutex_);
      if (const auto* broken = std::get_if<StreamBroken>(&event)) broken_ = *broken;
    };
  }
  std::optional<StreamBroken> WaitForBreak(absl::Duration timeout) {
    for (absl::Duration waited; waited < timeout; waited += absl::Milliseconds(5)) {
      {
        MutexLock lock(mutex_);
        if (broken_) return broken_;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return std::nullopt;
  }
  void Revoke(const testing_tls::Issued& issued) {
    folder_.Write("crl.pem", authority_.RevocationList({issued.certificate}));
    EXPECT_TRUE(store_->Poll());
  }

  testing_tls::Authority authority_;
  testing_tls::TlsFolder folder_;
  CountedLog counted_{Clock::System()};
  std::shared_ptr<TlsStore> store_;
  Mutex mutex_;
  std::optional<StreamBroken> broken_ ABSL_GUARDED_BY(mutex_);
};

// The scheduler's certificate was still good in the handshake, and there is no stream yet that could be cut.
TEST_F(TlsSession, ASchedulerThatIsRevokedDuringTheDialIsLeft) {
  const testing_tls::Issued issued = authority_.Issue(testing_tls::SchedulerSpec());
  MutePeer peer(issued);
  Session session(Towards(peer.port()), Deliver());
  session.Dial(1);
  ASSERT_TRUE(peer.WaitUntilTrusted());
  Revoke(issued);
  session.CheckPeer();
  peer.Speak();
  const auto broken = WaitForBreak(absl::Seconds(5));
  ASSERT_TRUE(broken.has_value()) << "it goes on with a scheduler that is not trusted any more";
  EXPECT_TRUE(broken->reason == BreakReason::kSecurity);
  EXPECT_THAT(broken->text, HasSubstr("revoked"));
}

// A judgement about an earlier scheduler's certificate does not apply to the next one.
TEST_F(TlsSession, ARevokedSchedulerDoesNotTaintTheNextDial) {
  const testing_tls::Issued bad = authority_.Issue(testing_tls::SchedulerSpec());
  auto first = std::make_unique<MutePeer>(bad);
  const uint16_t port = first->port();
  SessionOptions options = Towards(port);
  Session session(options, Deliver());
  session.Dial(1);
  ASSERT_TRUE(first->WaitUntilTrusted());
  first->Speak();
  Revoke(bad);
  session.Dial(2, true);  // to a peer that accepts one connection only: it stays in progress
  session.CheckPeer();
  const auto broken = WaitForBreak(absl::Seconds(5));
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ(broken->connect_seq, 1u);
}

}  // namespace
}  // namespace muster::agent
