// A peer that is revoked, or has a revoked authority above it, is cut off; one below a renewed authority stays.
#include "tests/tls/server/identity_fixture.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;
using testing_tls::Issued;

TEST_F(IdentityTest, AnOpenStreamOfARevokedPeerIsCut) {
  const Issued bad = Node("bad");
  const auto channel = Channel(bad);
  AgentStream revoked(channel), untouched(Channel(Node("good")));
  ASSERT_TRUE(revoked.Write(Join("bad")));
  ASSERT_TRUE(untouched.Write(Join("good")));
  loop_.Await<JoinRequested>(1);
  const MonotonicTime begin = Clock::System().Read().monotonic;
  Revoke(bad);
  const v1::SchedulerMessage last = revoked.Read();
  EXPECT_EQ(last.refusal().reason(), v1::Refusal::NOT_AUTHORIZED);
  EXPECT_THAT(last.refusal().text(), HasSubstr("revoked"));
  EXPECT_EQ(revoked.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_LT(Clock::System().Read().monotonic - begin, absl::Seconds(2));
  EXPECT_EQ(Count(TlsFault::kRevoked), 1u);
  loop_.Await<StreamClosed>();
  // The connection is still open, and useless.
  EXPECT_EQ(GetPeers(channel, "default").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  v1::CountersReply reply;
  EXPECT_EQ(Counters(channel, &reply).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(untouched.Write(AgentStream::Heartbeat(1)));
  loop_.Await<ReportReceived>();
}

// An authority stands between the root and the peers.
class IntermediateTest : public IdentityTest {
 protected:
  void WriteLists(const std::vector<Certificate>& revoked_by_root, const std::string& more = "") {
    folder_.Write("crl.pem", authority_.RevocationList(revoked_by_root) + middle_.RevocationList({}) + more);
  }
  testing_tls::Authority middle_ = authority_.IssueAuthority("Middle");
};

// The peer showed its own certificate only; the scheduler has the intermediate from its own files.
TEST_F(IntermediateTest, AnOpenStreamBelowARevokedIntermediateIsCut) {
  folder_.Write("ca.crt", authority_.pem() + middle_.pem());
  WriteLists({});
  Start();
  Issued below = middle_.Issue(testing_tls::NodeSpec("below"));
  below.chain_pem = below.certificate.ToPem();
  const auto channel = Channel(below);
  AgentStream cut(channel), untouched(Channel(Node("good")));
  ASSERT_TRUE(cut.Write(Join("below")));
  ASSERT_TRUE(untouched.Write(Join("good")));
  loop_.Await<JoinRequested>(1);
  const MonotonicTime begin = Clock::System().Read().monotonic;
  WriteLists({middle_.certificate()});
  Reload();
  EXPECT_THAT(cut.Read().refusal().text(), HasSubstr("CN=Middle (serial"));
  EXPECT_EQ(cut.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_LT(Clock::System().Read().monotonic - begin, absl::Seconds(2));
  EXPECT_EQ(Count(TlsFault::kRevoked), 1u);
  EXPECT_EQ(GetPeers(channel, "default").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kRevoked), 2u);
  EXPECT_TRUE(untouched.Write(AgentStream::Heartbeat(1)));
  loop_.Await<ReportReceived>();
}

// Anyone can make certificates with an authority's name and key: they lack only its issuer's signature.
TEST_F(IntermediateTest, MadeUpCertificatesDoNotHideARevokedIntermediate) {
  testing_tls::Authority foreign;  // of our root's name
  folder_.Write("ca.crt", authority_.pem() + middle_.pem());
  WriteLists({});
  Start();
  Issued below = middle_.Issue(testing_tls::NodeSpec("below"));
  below.chain_pem = below.certificate.ToPem();
  for (int i = 0; i < 20; ++i) below.chain_pem += foreign.Renew(middle_, "Middle").ToPem();
  const auto channel = Channel(below);
  AgentStream cut(channel);
  ASSERT_TRUE(cut.Write(Join("below")));
  loop_.Await<JoinRequested>();
  WriteLists({middle_.certificate()});
  Reload();
  EXPECT_THAT(cut.Read().refusal().text(), HasSubstr("CN=Middle (serial"));
  EXPECT_EQ(cut.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(GetPeers(channel, "default").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kRevoked), 2u);
}

// The owner of the authority's key can make any number of good certificates, and have peers show them.
TEST_F(IntermediateTest, ManySiblingsDoNotHideARevokedIntermediate) {
  testing_tls::Authority low = middle_.IssueAuthority("Low");
  std::string siblings = low.pem();
  for (int i = 0; i < 20; ++i) siblings += middle_.Renew(low, "Low").ToPem();
  folder_.Write("ca.crt", authority_.pem() + siblings + middle_.pem());
  WriteLists({}, low.RevocationList({}));
  Start();
  Issued below = low.Issue(testing_tls::NodeSpec("below"));
  below.chain_pem = below.certificate.ToPem();
  AgentStream cut(Channel(below));
  ASSERT_TRUE(cut.Write(Join("below")));
  loop_.Await<JoinRequested>();
  WriteLists({middle_.certificate()}, low.RevocationList({}));
  Reload();
  EXPECT_THAT(cut.Read().refusal().text(), HasSubstr("CN=Middle (serial"));
}

// Its former certificate is revoked as superseded, which does not concern the key: nodes show the new one.
class RenewedIntermediateTest : public IntermediateTest, public testing::WithParamInterface<const char*> {};

TEST_P(RenewedIntermediateTest, CertificatesBelowItStayValid) {
  const Certificate renewed = authority_.Renew(middle_, "Middle");
  const std::string trusted = GetParam();
  folder_.Write("ca.crt", authority_.pem() + (trusted == "both, the former first" ? middle_.pem() : "") +
                              renewed.ToPem() + (trusted == "both, the new one first" ? middle_.pem() : ""));
  WriteLists({});
  Start();
  const auto join = [&](const std::string& id, const Certificate& shown) {
    Issued below = middle_.Issue(testing_tls::NodeSpec(id));
    below.chain_pem = below.certificate.ToPem() + shown.ToPem();
    auto stream = std::make_unique<AgentStream>(Channel(below));
    EXPECT_TRUE(stream->Write(Join(id)));
    return stream;
  };
  const auto former = join("former", middle_.certificate());
  loop_.Await<JoinRequested>();
  const auto present = join("present", renewed);
  loop_.Await<JoinRequested>(1);
  WriteLists({middle_.certificate()});
  Reload();
  const auto next = join("next", renewed);
  loop_.Await<JoinRequested>(2);
  EXPECT_TRUE(former->Write(AgentStream::Heartbeat(1)));
  loop_.Await<ReportReceived>();
  EXPECT_TRUE(present->Write(AgentStream::Heartbeat(1)));
  loop_.Await<ReportReceived>(1);
  EXPECT_EQ(Count(TlsFault::kRevoked), 0u);
}

INSTANTIATE_TEST_SUITE_P(Trusted, RenewedIntermediateTest,
                         testing::Values("the new one", "both, the former first", "both, the new one first"),
                         [](const auto& info) { return std::string(1, static_cast<char>('A' + info.index)); });

// The other end reads nothing: the server does not wait until its last message is read.
TEST_F(IdentityTest, AnOpenStreamOfARevokedPeerThatDoesNotReadIsCut) {
  const Issued bad = Node("bad");
  AgentStream revoked(Channel(bad));
  ASSERT_TRUE(revoked.Write(Join("bad")));
  loop_.Await<JoinRequested>();
  const auto ballast = DesiredMessage(1, 200'000);
  for (int i = 0; i < 8; ++i) server_->sink().OnSend(1, ballast);
  const MonotonicTime begin = Clock::System().Read().monotonic;
  Revoke(bad);
  loop_.Await<StreamClosed>();
  ASSERT_TRUE(server_->AwaitNoStreams(absl::Seconds(10)));
  EXPECT_LT(Clock::System().Read().monotonic - begin, absl::Seconds(2));
}

}  // namespace
}  // namespace muster::scheduler
