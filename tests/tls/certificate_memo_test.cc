#include "common/tls/material/certificate_memo.h"

#include <gtest/gtest.h>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using testing_tls::Authority;
using testing_tls::NodeSpec;

TEST(CertificateMemo, ATextIsParsedOnceUntilOthersHaveTakenItsPlace) {
  Authority root;
  CertificateMemo memo;
  const std::string pem = root.Issue(NodeSpec("n1")).certificate.ToPem();
  const std::vector<Certificate> first = memo.Parse(pem);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].ToPem(), pem);
  for (size_t i = 0; i < 2 * CertificateMemo::kMaxTexts; ++i) {
    EXPECT_EQ(memo.Parse(std::string(i + 1, '\n') + pem).size(), 1u);
    if (i % 8 == 0) {
      EXPECT_EQ(memo.Parse(pem)[0].get(), first[0].get()) << "it is in use, after " << i;
    }
  }
  for (size_t i = 0; i < CertificateMemo::kMaxTexts; ++i) memo.Parse(std::string(i + 1, '\n') + pem);
  EXPECT_NE(memo.Parse(pem)[0].get(), first[0].get());
}

TEST(CertificateMemo, WhatCantBeReadAndWhatIsLongIsNotKept) {
  Authority root;
  CertificateMemo memo;
  EXPECT_TRUE(memo.Parse("").empty());
  EXPECT_TRUE(memo.Parse("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").empty());
  const std::string pem = root.certificate().ToPem() + std::string(CertificateMemo::kMaxTextLength, '\n');
  const std::vector<Certificate> first = memo.Parse(pem), second = memo.Parse(pem);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(first[0].get(), second[0].get());
}

TEST(CertificateMemo, ASignatureIsOfAKeyAndNotOfAName) {
  Authority root, namesake;
  CertificateMemo memo;
  const Certificate mine = root.Issue(NodeSpec("n1")).certificate, others = namesake.Issue(NodeSpec("n1")).certificate;
  for (int time = 0; time < 2; ++time) {  // the first time it is checked, then remembered
    EXPECT_TRUE(memo.HasSigned(root.certificate(), mine));
    EXPECT_FALSE(memo.HasSigned(root.certificate(), others));
    EXPECT_FALSE(memo.HasSigned(namesake.certificate(), mine));
    EXPECT_TRUE(memo.HasSigned(namesake.certificate(), others));
    EXPECT_FALSE(memo.HasSigned(mine, root.certificate()));
  }
}

}  // namespace
}  // namespace muster
