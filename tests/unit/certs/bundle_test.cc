#include "ctl/certs/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/tls/material/key_material.h"
#include "ctl/certs/authority.h"
#include "ctl/certs/inspect.h"
#include "tests/unit/certs/times.h"

namespace muster::certs {
namespace {

using ::testing::HasSubstr;

class BundleTest : public testing::Test {
 protected:
  Authority authority_ = *Authority::Create("muster", kNow, absl::Hours(24));
  Issued issued_ = *authority_.Issue(*AdminSubject("muster", "*"), kNow, absl::Hours(24));
  std::string bytes_ = *MakeBundle(issued_.certificate.get(), issued_.key.get(), "admin", "geheim");
};

TEST_F(BundleTest, HoldsKeyAndCertificateOnly) {
  const auto opened = ParsePkcs12(bytes_, Secret("geheim"));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->leaf().Fingerprint(), FingerprintOf(issued_.certificate.get()));
  EXPECT_EQ(opened->key_pem.text(), PrivateKeyPem(issued_.key.get()));
  EXPECT_EQ(opened->chain.size(), 1u) << "MindSpore takes no bundle with more";
}

TEST_F(BundleTest, AWrongPasswordIsDistinguishedFromDamage) {
  EXPECT_TRUE(absl::IsPermissionDenied(ParsePkcs12(bytes_, Secret("geheim2")).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(ParsePkcs12(bytes_, Secret("")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParsePkcs12(bytes_.substr(0, bytes_.size() / 2), Secret("geheim")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParsePkcs12("", Secret("geheim")).status()));
}

// The sender of such a file needs no password to keep a program busy for hours.
TEST_F(BundleTest, AnAbsurdNumberOfIterationsIsNotTried) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes_.data());
  const Pkcs12Ptr bundle(d2i_PKCS12(nullptr, &data, static_cast<long>(bytes_.size())));  // NOLINT(google-runtime-int)
  const ASN1_INTEGER* iterations = nullptr;
  PKCS12_get0_mac(nullptr, nullptr, nullptr, &iterations, bundle.get());
  ASSERT_EQ(ASN1_INTEGER_set(const_cast<ASN1_INTEGER*>(iterations), 2'000'000'000), 1);
  const BioPtr bio(BIO_new(BIO_s_mem()));
  ASSERT_EQ(i2d_PKCS12_bio(bio.get(), bundle.get()), 1);
  const absl::Status status = InspectBytes("a.p12", BioText(bio.get()), {"geheim", "geheim"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("number of iterations is too high"));
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
