// Tests which peers the handshake refuses, and under which reason they are counted.
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/tls/server/tls_server_fixture.h"

namespace muster::scheduler {
namespace {

using testing_tls::Authority;
using testing_tls::CertificateSpec;
using testing_tls::Issued;
using testing_tls::KeyKind;
using testing_tls::NodeSpec;
using testing_tls::NodeUri;
using testing_tls::RawConnect;
using testing_tls::RawHello;
using testing_tls::RawOptions;
using testing_tls::RawResult;
using testing_tls::SelfSigned;
using testing_tls::UriSpec;

class HandshakeTest : public TlsServerTest {
 protected:
  void ExpectRefused(const Issued& issued, TlsFault fault) {
    const uint64_t before = Count(fault), all_before = Refusals();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      RawOptions options;
      options.certificate = &issued;
      options.lowest = options.highest = version;
      EXPECT_FALSE(RawConnect(port_, options).is_let_in) << FaultName(fault);
    }
    EXPECT_EQ(AwaitCount(fault, before + 2), before + 2) << FaultName(fault);
    EXPECT_EQ(Refusals(), all_before + 2) << "nothing else is counted for it";
  }
  // Returns the sum over all reasons.
  uint64_t Refusals() {
    uint64_t all = 0;
    for (const auto& [kind, count] : counted_.Counts()) {
      const bool is_its_own_end = kind == "ended without a call" || kind == "hung up while waiting";
      if (!is_its_own_end) all += count;
    }
    return all;
  }
  void ExpectRefused(const CertificateSpec& spec, TlsFault fault) { ExpectRefused(authority_.Issue(spec), fault); }
  // Starts the server again with a key of this kind.
  void ServeWith(KeyKind key) {
    CertificateSpec server = testing_tls::SchedulerSpec();
    server.key = key;
    folder_.Write("server.pem", authority_.Issue(server).all_pem());
    Start();
  }
};

TEST_F(HandshakeTest, ANodeIsLetIn) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Issued node = Node("n1");
    RawOptions options;
    options.certificate = &node;
    options.lowest = options.highest = version;
    const RawResult result = RawConnect(port_, options);
    EXPECT_TRUE(result.is_let_in) << result.error;
  }
}

// A client that gives up before the handshake is done, or stays only for a moment, has done nothing wrong.
TEST_F(HandshakeTest, TheHonestAreNotCounted) {
  const Issued node = Node("n1");
  EXPECT_TRUE(Connect(node).is_let_in);
  const auto dial = [&](const std::string& bytes) {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    ASSERT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  };
  dial("");
  dial(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9));  // an incomplete hello
  const auto channel = Channel(node);
  {
    AgentStream cancelled(channel);
    cancelled.Write(AgentStream::GoodJoin());
    loop_.Await<JoinRequested>();
    cancelled.Cancel();
    EXPECT_EQ(cancelled.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  loop_.Await<StreamClosed>();
  for (int i = 0; i < 1000 && counted_.Counts()["ended without a call"] < 1; ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(Refusals(), 0u);
}

TEST_F(HandshakeTest, NoCertificate) {
  uint64_t wanted = 0;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    RawOptions options;
    options.lowest = options.highest = version;
    EXPECT_FALSE(RawConnect(port_, options).is_let_in) << version;
    EXPECT_EQ(AwaitCount(TlsFault::kNoCertificate, ++wanted), wanted) << version;
  }
  EXPECT_EQ(Refusals(), wanted) << "nothing else is counted for it";
}

TEST_F(HandshakeTest, PlainTextAgainstTls) {
  AgentStream stream(ChannelWith(grpc::InsecureChannelCredentials()));
  stream.Write(AgentStream::GoodJoin());
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_GE(AwaitCount(TlsFault::kPlaintext, 1), 1u);
}

TEST_F(HandshakeTest, Dates) {
  CertificateSpec expired = NodeSpec("n1");
  expired.from = -absl::Hours(2);
  expired.until = -absl::Seconds(1);
  ExpectRefused(expired, TlsFault::kExpired);
  CertificateSpec early = NodeSpec("n1");
  early.from = absl::Hours(1);
  ExpectRefused(early, TlsFault::kNotYetValid);
}

TEST_F(HandshakeTest, OtherAuthorities) {
  Authority same_name("Test CA");
  ExpectRefused(same_name.Issue(NodeSpec("n1")), TlsFault::kUnknownAuthority);
  ExpectRefused(SelfSigned(NodeSpec("n1")), TlsFault::kSelfSigned);
}

TEST_F(HandshakeTest, WrongUsage) {
  CertificateSpec spec = NodeSpec("n1");
  spec.usages = "serverAuth";
  ExpectRefused(spec, TlsFault::kWrongUsage);
}

TEST_F(HandshakeTest, WeakKeysAndSignatures) {
  CertificateSpec weak = NodeSpec("n1");
  weak.key = KeyKind::kRsa1024;
  ExpectRefused(weak, TlsFault::kWeakKey);
  CertificateSpec sha1 = NodeSpec("n1");
  sha1.uses_sha1 = true;
  ExpectRefused(sha1, TlsFault::kWeakSignature);
}

TEST_F(HandshakeTest, Names) {
  ExpectRefused(UriSpec({}), TlsFault::kNameMissing);
  ExpectRefused(UriSpec({NodeUri("a"), NodeUri("b")}), TlsFault::kNameDoubled);
  ExpectRefused(UriSpec({"spiffe://test.example/muster/default/node/"}), TlsFault::kNameMalformed);
  ExpectRefused(UriSpec({"https://test.example/muster/default/node/n1"}), TlsFault::kNameMalformed);
  ExpectRefused(UriSpec({NodeUri(std::string(5000, 'x'))}), TlsFault::kNameTooLong);
  ExpectRefused(UriSpec({NodeUri(std::string("n1\0.evil", 8))}), TlsFault::kNameWithNul);
  ExpectRefused(UriSpec({"spiffe://elsewhere.example/muster/default/node/n1"}), TlsFault::kOtherTrustDomain);
}

TEST_F(HandshakeTest, WithCaOnlyNamesDoNotCount) {
  settings_.identity = "ca-only";
  Start();
  EXPECT_TRUE(Connect(Issue(UriSpec({}))).is_let_in);
  Authority other("Test CA");
  EXPECT_FALSE(Connect(other.Issue(NodeSpec("n1"))).is_let_in);
}

TEST_F(HandshakeTest, OldVersions) {
  const Issued node = Node("n1");
  uint64_t wanted = 0;
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    RawOptions options;
    options.certificate = &node;
    options.lowest = options.highest = version;
    const RawResult result = RawConnect(port_, options);
    EXPECT_FALSE(result.is_let_in);
    EXPECT_EQ(AwaitCount(TlsFault::kOldVersion, ++wanted), wanted) << result.error;
  }
}

TEST_F(HandshakeTest, OldCiphers) {
  uint64_t wanted = 0;
  // CBC, no cipher, anonymous; with RSA also its key exchange, which an ECDSA key can't do.
  const std::vector<std::pair<KeyKind, std::vector<std::string>>> cases = {
      {KeyKind::kP256,
       {"ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-NULL-SHA", "AECDH-AES128-SHA"}},
      {KeyKind::kRsa2048,
       {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA", "AES256-SHA256", "ECDHE-RSA-AES128-SHA256",
        "ECDHE-RSA-AES256-SHA", "DHE-RSA-AES128-SHA", "ECDHE-RSA-NULL-SHA", "NULL-SHA256", "ADH-AES128-SHA"}}};
  for (const auto& [key, ciphers] : cases) {
    ServeWith(key);
    const Issued node = Node("n1");
    RawOptions options;
    options.certificate = &node;
    options.highest = TLS1_2_VERSION;
    EXPECT_TRUE(RawConnect(port_, options).is_let_in) << "with what OpenSSL offers by itself";
    for (const std::string& cipher : ciphers) {
      options.ciphers = cipher + ":@SECLEVEL=0";
      EXPECT_FALSE(RawConnect(port_, options).is_let_in) << cipher;
      EXPECT_EQ(AwaitCount(TlsFault::kNoSharedCipher, ++wanted), wanted) << cipher;
    }
  }
}

// Debian's OpenSSL no longer offers it.
TEST_F(HandshakeTest, TripleDes) {
  constexpr int kHandshake = 22, kAlert = 21;
  constexpr uint16_t kRsa = 0x000a, kEcdheEcdsa = 0xc008, kEcdheRsa = 0xc012;
  const std::vector<std::vector<uint16_t>> offers = {
      {kRsa}, {kEcdheRsa}, {kEcdheEcdsa}, {kRsa, kEcdheRsa, kEcdheEcdsa}};
  uint64_t wanted = 0;
  for (const auto& [key, good] : {std::pair(KeyKind::kRsa2048, 0xc02f), std::pair(KeyKind::kP256, 0xc02b)}) {
    ServeWith(key);
    EXPECT_EQ(RawHello(port_, {static_cast<uint16_t>(good)}), kHandshake) << "AES-GCM: it is about the suites only";
    for (const std::vector<uint16_t>& suites : offers) {
      EXPECT_EQ(RawHello(port_, suites), kAlert);
      EXPECT_EQ(AwaitCount(TlsFault::kNoSharedCipher, ++wanted), wanted);
    }
  }
}

TEST_F(HandshakeTest, RevokedBeforeItConnects) {
  const Issued node = Node("n1");
  ASSERT_TRUE(Connect(node).is_let_in);
  Revoke(node);
  ExpectRefused(node, TlsFault::kRevoked);
  EXPECT_TRUE(Connect(Node("n1")).is_let_in);
}

// Otherwise a revoked peer could resume its session.
TEST_F(HandshakeTest, NoSessionCanBeResumed) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Issued node = Node("n1");
    RawOptions options;
    options.certificate = &node;
    options.lowest = options.highest = version;
    const RawResult first = RawConnect(port_, options);
    ASSERT_TRUE(first.is_let_in) << first.error;
    EXPECT_EQ(first.session, nullptr) << version;
  }
}

// An intermediate that other peers have shown replaces one that a peer leaves out.
TEST_F(HandshakeTest, AnIntermediateThatOthersHaveShownIsKnown) {
  Authority middle = authority_.IssueAuthority("Middle");
  folder_.Write("ca.crt", authority_.pem());
  folder_.WriteConfig(false);
  Start();
  const Issued whole = middle.Issue(NodeSpec("n1"));
  Issued alone = whole;
  alone.chain_pem = whole.certificate.ToPem();
  EXPECT_FALSE(Connect(alone).is_let_in);
  EXPECT_TRUE(Connect(whole).is_let_in);
  EXPECT_TRUE(Connect(alone).is_let_in);
}

TEST_F(HandshakeTest, AnExpiredListRefusesOrServes) {
  folder_.Write("crl.pem", authority_.RevocationList({}, -absl::Hours(2), -absl::Hours(1)));
  Start();
  ExpectRefused(NodeSpec("n1"), TlsFault::kRevocationListExpired);
  settings_.crl_expired = "serve";
  Start();
  EXPECT_TRUE(Connect(Node("n1")).is_let_in);
}

}  // namespace
}  // namespace muster::scheduler
