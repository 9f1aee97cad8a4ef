#include "common/tls/peer/peer_name.h"

#include <gtest/gtest.h>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using testing_tls::Authority;
using testing_tls::CertificateSpec;
using testing_tls::UriSpec;

TlsFault FaultOf(const std::string& uri) { return ParsePeerName(uri).refusal.fault; }

TEST(PeerName, ReadsEachKind) {
  PeerNameResult node = ParsePeerName("spiffe://prod.example/muster/train/node/n-1");
  ASSERT_TRUE(node.refusal.ok()) << node.refusal.text;
  EXPECT_EQ(node.name, (PeerName{PeerName::Kind::kNode, "prod.example", "train", "n-1"}));
  EXPECT_EQ(ParsePeerName("spiffe://d/muster/*/node/*").name, (PeerName{PeerName::Kind::kNode, "d", "*", "*"}));
  EXPECT_EQ(ParsePeerName("spiffe://d/muster/*/host/h1/*").name, (PeerName{PeerName::Kind::kHost, "d", "*", "h1"}));
  EXPECT_EQ(ParsePeerName("spiffe://d/muster/j/scheduler").name, (PeerName{PeerName::Kind::kScheduler, "d", "j", ""}));
  EXPECT_EQ(ParsePeerName("spiffe://d/muster/*/admin").name, (PeerName{PeerName::Kind::kAdmin, "d", "*", ""}));
}

TEST(PeerName, IsWrittenAsItIsRead) {
  for (const std::string uri : {"spiffe://d/muster/j/node/a:b@c_d.e-f", "spiffe://d/muster/*/host/h/*",
                                "spiffe://d/muster/j/scheduler", "spiffe://d/muster/*/admin"}) {
    EXPECT_EQ(ParsePeerName(uri).name.ToUri(), uri);
  }
}

TEST(PeerName, CoversWhatItNames) {
  const PeerName node = ParsePeerName("spiffe://d/muster/j/node/7").name;
  EXPECT_TRUE(node.CoversJob("j"));
  EXPECT_FALSE(node.CoversJob("k"));
  EXPECT_FALSE(node.CoversJob(""));
  EXPECT_TRUE(node.CoversNode("7"));
  EXPECT_FALSE(node.CoversNode("07"));
  EXPECT_FALSE(node.CoversNode(""));
  const PeerName host = ParsePeerName("spiffe://d/muster/*/host/h/*").name;
  EXPECT_TRUE(host.CoversJob("j"));
  EXPECT_TRUE(host.CoversNode("anything"));
  EXPECT_TRUE(host.CoversNode(""));
  EXPECT_FALSE(ParsePeerName("spiffe://d/muster/*/admin").name.CoversNode("a"));
  EXPECT_FALSE(ParsePeerName("spiffe://d/muster/*/scheduler").name.IsNode());
}

TEST(PeerName, RefusesWhatTheGrammarDoesNotHave) {
  for (const std::string uri : {"",
                                "spiffe:",
                                "spiffe://",
                                "https://d/muster/j/node/a",
                                "SPIFFE://d/muster/j/node/a",
                                "spiffe://D/muster/j/node/a",
                                "spiffe:///muster/j/node/a",
                                "spiffe://d/muster//node/a",
                                "spiffe://d/muster/j/node/",
                                "spiffe://d/muster/j/node",
                                "spiffe://d/muster/j/node/a/",
                                "spiffe://d/muster/j/node/a/b",
                                "spiffe://d/Muster/j/node/a",
                                "spiffe://d/muster/j/nodes/a",
                                "spiffe://d/muster/../node/a",
                                "spiffe://d/muster/j/node/..",
                                "spiffe://d/muster/j/node/a%20",
                                "spiffe://d/muster/j/node/a?b",
                                "spiffe://d/muster/j/node/a#b",
                                "spiffe://u@d/muster/j/node/a",
                                "spiffe://d:1/muster/j/node/a",
                                "spiffe://d/muster/j/node/a*",
                                "spiffe://d/muster/j/host/h",
                                "spiffe://d/muster/j/host/*/*",
                                "spiffe://d/muster/j/host/h/x",
                                "spiffe://d/muster/j/scheduler/",
                                "spiffe://d/muster/j/admin/x",
                                "spiffe://d/muster/j",
                                "spiffe://d/muster",
                                "spiffe://d/muster/j/node/\xc3\xa4",
                                " spiffe://d/muster/j/node/a",
                                "spiffe://d/muster/j/node/a\n"}) {
    EXPECT_EQ(FaultOf(uri), TlsFault::kNameMalformed) << uri;
  }
}

TEST(PeerName, HasLimits) {
  const std::string longest(128, 'x');
  EXPECT_EQ(FaultOf("spiffe://d/muster/" + longest + "/node/" + longest), TlsFault::kNone);
  EXPECT_EQ(FaultOf("spiffe://d/muster/j/node/" + longest + "x"), TlsFault::kNameMalformed);
  EXPECT_EQ(FaultOf("spiffe://" + std::string(255, 'd') + "/muster/j/node/a"), TlsFault::kNone);
  EXPECT_EQ(FaultOf("spiffe://" + std::string(256, 'd') + "/muster/j/node/a"), TlsFault::kNameMalformed);
  EXPECT_EQ(FaultOf("spiffe://d/muster/j/node/" + std::string(3000, 'x')), TlsFault::kNameTooLong);
}

TEST(PeerName, SeesNul) {
  EXPECT_EQ(FaultOf(std::string("spiffe://d/muster/j/node/a\0b", 27)), TlsFault::kNameWithNul);
}

TEST(NameOf, WantsExactlyOne) {
  Authority authority;
  EXPECT_EQ(NameOf(authority.Issue(UriSpec({})).certificate).refusal.fault, TlsFault::kNameMissing);
  CertificateSpec only_dns;
  only_dns.dns = {"spiffe"};
  EXPECT_EQ(NameOf(authority.Issue(only_dns).certificate).refusal.fault, TlsFault::kNameMissing);
  const std::string uri = "spiffe://d/muster/j/node/a";
  EXPECT_EQ(NameOf(authority.Issue(UriSpec({uri, uri})).certificate).refusal.fault, TlsFault::kNameDoubled);
  EXPECT_EQ(NameOf(authority.Issue(UriSpec({uri, "https://x"})).certificate).refusal.fault, TlsFault::kNameDoubled);
  EXPECT_EQ(
      NameOf(authority.Issue(UriSpec({std::string("spiffe://d/muster/j/node/a\0", 27)})).certificate).refusal.fault,
      TlsFault::kNameWithNul);
  CertificateSpec with_dns = UriSpec({uri});
  with_dns.dns = {"h"};
  EXPECT_EQ(NameOf(authority.Issue(with_dns).certificate).name.ToUri(), uri);
}

}  // namespace
}  // namespace muster
