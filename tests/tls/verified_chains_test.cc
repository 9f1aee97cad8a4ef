#include "common/tls/peer/verified_chains.h"

#include <gtest/gtest.h>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using testing_tls::Authority;
using testing_tls::CertificateSpec;
using testing_tls::NodeSpec;

class VerifiedChainsTest : public testing::Test {
 protected:
  Certificate Issue(absl::Duration from, absl::Duration until) {
    CertificateSpec spec = NodeSpec("n1");
    spec.from = from;
    spec.until = until;
    return authority_.Issue(spec).certificate;
  }
  std::vector<Certificate> ChainOf(const Certificate& leaf) {
    return {leaf, ParseCertificates(authority_.pem())->front()};
  }

  Authority authority_{"Test CA"};
  VerifiedChains chains_;
  const absl::Time now_ = absl::Now();
};

TEST_F(VerifiedChainsTest, KnowsWhatWasPutInOnly) {
  const Certificate one = Issue(-absl::Hours(1), absl::Hours(1)), other = Issue(-absl::Hours(1), absl::Hours(1));
  EXPECT_FALSE(chains_.Find({one}, now_).has_value());
  chains_.Put({one}, ChainOf(one));
  const auto found = chains_.Find({one}, now_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->size(), 2u);
  EXPECT_EQ(found->front().Fingerprint(), one.Fingerprint());
  EXPECT_FALSE(chains_.Find({other}, now_).has_value());
  EXPECT_FALSE(chains_.Find({one, other}, now_).has_value()) << "it showed something else";
}

TEST_F(VerifiedChainsTest, NothingIsGoodOutsideItsTime) {
  const Certificate leaf = Issue(-absl::Hours(1), absl::Hours(1));
  chains_.Put({leaf}, ChainOf(leaf));
  EXPECT_TRUE(chains_.Find({leaf}, now_ + absl::Minutes(59)).has_value());
  EXPECT_FALSE(chains_.Find({leaf}, now_ + absl::Minutes(61)).has_value());
  EXPECT_FALSE(chains_.Find({leaf}, now_ - absl::Minutes(61)).has_value());
}

TEST_F(VerifiedChainsTest, AnUnverifiedChainIsNotKept) {
  const Certificate leaf = Issue(-absl::Hours(1), absl::Hours(1));
  chains_.Put({leaf}, {});
  EXPECT_FALSE(chains_.Find({leaf}, now_).has_value());
}

}  // namespace
}  // namespace muster
