#include "common/tls/material/age_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing_tls::Authority;
using testing_tls::CertificateSpec;

constexpr absl::Duration kDay = absl::Hours(24);

class AgeWarningsTest : public testing::Test {
 protected:
  std::vector<AgeWarning> Of(absl::Duration list_from, absl::Duration list_until, absl::Duration later = {}) {
    auto lists = ParseRevocationLists(authority_.RevocationList({}, list_from, list_until), {authority_.certificate()},
                                      absl::Now());
    EXPECT_TRUE(lists.ok()) << lists.status();
    const auto trust = BuildTrust({authority_.certificate()}, true, *lists);
    return AgeWarnings({own_, middle_}, *trust, rules_, absl::Now() + later);
  }
  std::string TextOf(const std::vector<AgeWarning>& warnings) {
    std::string text;
    for (const AgeWarning& warning : warnings) text += warning.text + "\n";
    return text;
  }

  Authority authority_;
  CertificateSpec spec_ = testing_tls::SchedulerSpec();
  Certificate middle_ = authority_.IssueAuthority("Middle").certificate();
  Certificate own_ = authority_.Issue(spec_).certificate;
  AgeRules rules_;
};

TEST_F(AgeWarningsTest, AListIsWarnedOfBeforeItEnds) {
  EXPECT_EQ(TextOf(Of(-kDay, 30 * kDay)), "");
  EXPECT_EQ(TextOf(Of(-30 * kDay, 8 * kDay)), "") << "a third of its life is left, but more than a week";
  const std::string text = TextOf(Of(-30 * kDay, 6 * kDay));
  EXPECT_THAT(text, HasSubstr("the revocation list of CN=Test CA ends in 5 days, at "));
  EXPECT_THAT(text, HasSubstr("crl_path"));
  EXPECT_THAT(text, HasSubstr("refused after that (--crl_expired=refuse)"));
  EXPECT_THAT(TextOf(Of(-30 * kDay, absl::Hours(30))), HasSubstr("ends in 29 hours"));
  EXPECT_THAT(TextOf(Of(-30 * kDay, absl::Seconds(90))), HasSubstr("ends in 1 minutes"));
}

TEST_F(AgeWarningsTest, AShortLivedListOnlyInItsLastThird) {
  EXPECT_EQ(TextOf(Of(-absl::Minutes(30), absl::Minutes(30))), "");
  EXPECT_THAT(TextOf(Of(-absl::Minutes(50), absl::Minutes(10))), HasSubstr("ends in 9 minutes"));
}

TEST_F(AgeWarningsTest, OneWithoutAnEndNever) {
  EXPECT_EQ(TextOf(Of(-kDay, absl::ZeroDuration(), 1000 * kDay / 4)), "");
}

TEST_F(AgeWarningsTest, ItsEndAndItsSuccessorAreOtherMatters) {
  const std::vector<AgeWarning> before = Of(-30 * kDay, kDay);
  const std::vector<AgeWarning> after = Of(-30 * kDay, kDay, 2 * kDay);
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_THAT(after[0].text, HasSubstr("has expired, at "));
  EXPECT_NE(before[0].about, after[0].about);
  EXPECT_NE(before[0].about, Of(-30 * kDay, 2 * kDay).at(0).about);
  rules_.serves_expired_lists = true;
  EXPECT_THAT(TextOf(Of(-30 * kDay, kDay, 2 * kDay)), HasSubstr("--crl_expired=serve"));
}

TEST_F(AgeWarningsTest, AnAuthorityInBetweenThatEndsBeforeTheCertificate) {
  CertificateSpec spec = testing_tls::NodeSpec("in between");
  spec.from = -300 * kDay;
  spec.until = 10 * kDay;
  middle_ = authority_.Issue(spec).certificate;
  EXPECT_THAT(TextOf(Of(-kDay, 30 * kDay)), HasSubstr("CN=in between ends in 9 days"));
}

TEST_F(AgeWarningsTest, CertificatesForTheDaysThatAreSet) {
  spec_.from = -300 * kDay;
  spec_.until = 60 * kDay;
  own_ = authority_.Issue(spec_).certificate;
  EXPECT_THAT(TextOf(Of(-kDay, 30 * kDay)), HasSubstr("ends in 59 days"));
  rules_.warning_days = 30;
  EXPECT_EQ(TextOf(Of(-kDay, 30 * kDay)), "");
  spec_.until = -kDay;
  own_ = authority_.Issue(spec_).certificate;
  EXPECT_THAT(TextOf(Of(-kDay, 30 * kDay)), HasSubstr("has expired, at "));
}

}  // namespace
}  // namespace muster
