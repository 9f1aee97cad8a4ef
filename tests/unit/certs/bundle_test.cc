#include "ctl/certs/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ctl/certs/authority.h"
#include "ctl/certs/inspect.h"

namespace muster::certs {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class BundleTest : public testing::Test {
 protected:
  Authority authority_ = *Authority::Create("muster", kNow, absl::Hours(24));
  Issued issued_ = *authority_.Issue(*AdminSubject("muster", "*"), kNow, absl::Hours(24));
  std::string bytes_ = *MakeBundle(issued_.certificate.get(), issued_.key.get(), "admin", "geheim");
};

TEST_F(BundleTest, HoldsKeyAndCertificateOnly) {
  const auto opened = OpenBundle(bytes_, "geheim");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(FingerprintOf(opened->certificate.get()), FingerprintOf(issued_.certificate.get()));
  EXPECT_EQ(X509_check_private_key(issued_.certificate.get(), opened->key.get()), 1);
  EXPECT_LE(sk_X509_num(opened->chain.get()), 0) << "MindSpore takes no bundle with more";
}

TEST_F(BundleTest, AWrongPasswordIsToldFromDamage) {
  EXPECT_TRUE(absl::IsPermissionDenied(OpenBundle(bytes_, "geheim2").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(OpenBundle(bytes_, "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenBundle(bytes_.substr(0, bytes_.size() / 2), "geheim").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenBundle("", "geheim").status()));
}

TEST_F(BundleTest, InspectNeedsThePassword) {
  EXPECT_THAT(std::string(InspectBytes("a.p12", bytes_, {}).status().message()), HasSubstr("--password_file"));
  EXPECT_THAT(std::string(InspectBytes("a.p12", bytes_, {"wrong", "bad"}).status().message()),
              HasSubstr("password is wrong"));
  const auto facts = InspectBytes("a.p12", bytes_, {"wrong", "geheim"});
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->form, "PKCS#12");
  ASSERT_EQ(facts->certificates.size(), 1u);
  EXPECT_TRUE(facts->certificates[0].has_key);
}

TEST_F(BundleTest, EveryTruncationIsAnErrorAndNeverACrash) {
  for (size_t size = 0; size < bytes_.size(); size += 7) {
    EXPECT_FALSE(InspectBytes("a.p12", bytes_.substr(0, size), {"geheim", "geheim"}).ok()) << size;
  }
  const std::string pem = authority_.CertificateText();
  for (size_t size = 0; size + 2 < pem.size(); size += 7) {
    EXPECT_FALSE(InspectBytes("a.pem", pem.substr(0, size), {}).ok()) << size;
  }
}

}  // namespace
}  // namespace muster::certs
