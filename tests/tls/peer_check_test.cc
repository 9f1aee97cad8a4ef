#include "common/tls/peer/peer_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing_tls::Authority;
using testing_tls::CertificateSpec;
using testing_tls::HostUri;
using testing_tls::IssueBelow;
using testing_tls::Issued;
using testing_tls::kDomain;
using testing_tls::KeyKind;
using testing_tls::NodeSpec;
using testing_tls::SchedulerSpec;
using testing_tls::SelfSigned;
using testing_tls::UriSpec;

class PeerCheckTest : public ::testing::Test {
 protected:
  PeerCheckTest() {
    rules_.trust_domain = kDomain;
    SetLists(false, "");
  }

  void SetLists(bool has_lists, const std::string& pem) {
    std::vector<RevocationList> lists;
    if (!pem.empty()) lists = *ParseRevocationLists(pem, {authority_.certificate()}, absl::Now());
    trust_ = BuildTrust({authority_.certificate()}, has_lists, std::move(lists));
  }

  CheckedPeer Check(const Issued& peer) {
    const PeerCertificates read = ReadPeer(peer.certificate.ToPem(), peer.chain_pem);
    return CheckPeer(*trust_, rules_, read.leaf, read.others, absl::Now());
  }
  TlsFault FaultOf(const Issued& peer) { return Check(peer).refusal.fault; }
  TlsFault FaultOf(const CertificateSpec& spec) { return FaultOf(authority_.Issue(spec)); }

  Authority authority_{"Test CA"};
  PeerRules rules_;
  std::shared_ptr<const TrustBase> trust_;
};

TEST_F(PeerCheckTest, LetsANodeIn) {
  const CheckedPeer peer = Check(authority_.Issue(NodeSpec("n1")));
  EXPECT_TRUE(peer.refusal.ok()) << peer.refusal.text;
  EXPECT_EQ(peer.name.id, "n1");
  EXPECT_EQ(peer.chain.size(), 2u);
  EXPECT_EQ(FaultOf(UriSpec({HostUri("h")})), TlsFault::kNone);
  CertificateSpec without_usage = NodeSpec("n1");
  without_usage.usages = "";
  EXPECT_EQ(FaultOf(without_usage), TlsFault::kNone);
  CertificateSpec rsa = NodeSpec("n1");
  rsa.key = KeyKind::kRsa2048;
  EXPECT_EQ(FaultOf(rsa), TlsFault::kNone);
}

TEST_F(PeerCheckTest, LetsANodeInWithAnIntermediate) {
  Authority middle = authority_.IssueAuthority("Middle");
  const Issued node = middle.Issue(NodeSpec("n1"));
  EXPECT_EQ(Check(node).chain.size(), 3u);
  EXPECT_EQ(CheckPeer(*trust_, rules_, node.certificate, {}, absl::Now()).refusal.fault, TlsFault::kUnknownAuthority);
}

TEST_F(PeerCheckTest, SaysWhatIsWrongWithTheChain) {
  CertificateSpec expired = NodeSpec("n1");
  expired.from = -absl::Hours(2);
  expired.until = -absl::Hours(1);
  EXPECT_EQ(FaultOf(expired), TlsFault::kExpired);
  CertificateSpec early = NodeSpec("n1");
  early.from = absl::Hours(1);
  EXPECT_EQ(FaultOf(early), TlsFault::kNotYetValid);
  CertificateSpec server = NodeSpec("n1");
  server.usages = "serverAuth";
  EXPECT_EQ(FaultOf(server), TlsFault::kWrongUsage);
  CertificateSpec weak = NodeSpec("n1");
  weak.key = KeyKind::kRsa1024;
  EXPECT_EQ(FaultOf(weak), TlsFault::kWeakKey);
  CertificateSpec sha1 = NodeSpec("n1");
  sha1.uses_sha1 = true;
  EXPECT_EQ(FaultOf(sha1), TlsFault::kWeakSignature);
  EXPECT_EQ(FaultOf(SelfSigned(NodeSpec("n1"))), TlsFault::kSelfSigned);
  Authority same_name("Test CA"), other_name("Other CA");
  EXPECT_EQ(FaultOf(same_name.Issue(NodeSpec("n1"))), TlsFault::kUnknownAuthority);
  EXPECT_EQ(FaultOf(other_name.Issue(NodeSpec("n1"))), TlsFault::kUnknownAuthority);
  EXPECT_EQ(CheckPeer(*trust_, rules_, Certificate(), {}, absl::Now()).refusal.fault, TlsFault::kUnreadable);
}

TEST_F(PeerCheckTest, ANodesCertificateIsNoAuthority) {
  CertificateSpec spec = NodeSpec("n1");
  for (const bool may_sign : {false, true}) {
    spec.may_sign = may_sign;
    const TlsRefusal refusal = Check(IssueBelow(authority_.Issue(spec), NodeSpec("n2"))).refusal;
    EXPECT_EQ(refusal.fault, TlsFault::kBadChain);
    EXPECT_EQ(refusal.text, "the certificate CN=n1 can't be verified (invalid CA certificate)");
  }
  spec.is_authority = true;  // the same with an authority: nothing else was wrong with the chain
  const CheckedPeer good = Check(IssueBelow(authority_.Issue(spec), NodeSpec("n2")));
  EXPECT_TRUE(good.refusal.ok()) << good.refusal.text;
  EXPECT_EQ(good.name.id, "n2");
}

TEST_F(PeerCheckTest, SaysWhatIsWrongWithTheName) {
  EXPECT_EQ(FaultOf(UriSpec({})), TlsFault::kNameMissing);
  EXPECT_EQ(FaultOf(UriSpec({testing_tls::NodeUri("a"), testing_tls::NodeUri("b")})), TlsFault::kNameDoubled);
  EXPECT_EQ(FaultOf(UriSpec({"spiffe://elsewhere.example/muster/default/node/n1"})), TlsFault::kOtherTrustDomain);
  rules_.needs_name = false;
  EXPECT_EQ(FaultOf(UriSpec({})), TlsFault::kNone);
  EXPECT_EQ(FaultOf(UriSpec({"spiffe://elsewhere.example/muster/default/node/n1"})), TlsFault::kNone);
}

TEST_F(PeerCheckTest, Revokes) {
  const Issued good = authority_.Issue(NodeSpec("good")), bad = authority_.Issue(NodeSpec("bad"));
  SetLists(true, authority_.RevocationList({bad.certificate}));
  EXPECT_EQ(FaultOf(good), TlsFault::kNone);
  EXPECT_EQ(FaultOf(bad), TlsFault::kRevoked);
  EXPECT_EQ(CheckStillGood(*trust_, {bad.certificate}).fault, TlsFault::kRevoked);
  EXPECT_TRUE(CheckStillGood(*trust_, {good.certificate}).ok());
}

TEST_F(PeerCheckTest, RevokesAnIntermediate) {
  Authority middle = authority_.IssueAuthority("Middle");
  const Issued node = middle.Issue(NodeSpec("n1"));
  SetLists(true, authority_.RevocationList({middle.certificate()}));
  EXPECT_EQ(FaultOf(node), TlsFault::kRevoked);
}

TEST_F(PeerCheckTest, WantsAListOfEachIssuer) {
  SetLists(true, "");
  EXPECT_EQ(FaultOf(NodeSpec("n1")), TlsFault::kNoRevocationList);
}

TEST_F(PeerCheckTest, AnExpiredListRefusesOrServes) {
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  SetLists(true, authority_.RevocationList({bad.certificate}, -absl::Hours(2), -absl::Hours(1)));
  EXPECT_EQ(FaultOf(NodeSpec("n1")), TlsFault::kRevocationListExpired);
  EXPECT_EQ(FaultOf(bad), TlsFault::kRevoked);
  rules_.serves_expired_lists = true;
  EXPECT_EQ(FaultOf(NodeSpec("n1")), TlsFault::kNone);
  EXPECT_EQ(FaultOf(bad), TlsFault::kRevoked);
}

TEST_F(PeerCheckTest, ChecksTheScheduler) {
  rules_.peer_is = PeerSide::kServer;
  rules_.host = "127.0.0.1";
  rules_.job = "default";
  EXPECT_EQ(FaultOf(SchedulerSpec()), TlsFault::kNone);
  rules_.host = "localhost";
  EXPECT_EQ(FaultOf(SchedulerSpec()), TlsFault::kNone);
  rules_.host = "node1";
  EXPECT_EQ(FaultOf(SchedulerSpec()), TlsFault::kOtherHost);
  rules_.host = "127.0.0.2";
  EXPECT_EQ(FaultOf(SchedulerSpec()), TlsFault::kOtherHost);
  rules_.host = "127.0.0.1";
  CertificateSpec node = SchedulerSpec();
  node.uris = {testing_tls::NodeUri("n1")};
  EXPECT_EQ(FaultOf(node), TlsFault::kNotAScheduler);
  CertificateSpec other_job = SchedulerSpec();
  other_job.uris = {testing_tls::SchedulerUri("another")};
  EXPECT_EQ(FaultOf(other_job), TlsFault::kNotAScheduler);
  rules_.job = "";
  EXPECT_EQ(FaultOf(other_job), TlsFault::kNone);
  CertificateSpec client = SchedulerSpec();
  client.usages = "clientAuth";
  EXPECT_EQ(FaultOf(client), TlsFault::kWrongUsage);
  CertificateSpec by_common_name = SchedulerSpec();
  by_common_name.common_name = "127.0.0.1";
  by_common_name.ips = by_common_name.dns = {};
  EXPECT_EQ(FaultOf(by_common_name), TlsFault::kOtherHost);
}

TEST(FaultName, IsDifferentForEach) {
  std::set<std::string> names;
  for (int fault = 0; fault <= static_cast<int>(TlsFault::kNotAnAdmin); ++fault) {
    EXPECT_TRUE(names.insert(FaultName(static_cast<TlsFault>(fault))).second) << fault;
  }
}

}  // namespace
}  // namespace muster
