#include "common/tls/material/revocation_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_tls::Authority;
using testing_tls::Issued;
using testing_tls::NodeSpec;

absl::StatusOr<std::vector<RevocationList>> Parse(const std::string& bytes, const Authority& authority) {
  return ParseRevocationLists(bytes, {authority.certificate()}, absl::Now());
}

std::string ToDer(const std::string& pem) {
  const BioPtr in = MemoryBio(pem);
  const X509CrlPtr crl(PEM_read_bio_X509_CRL(in.get(), nullptr, nullptr, nullptr));
  const BioPtr out(BIO_new(BIO_s_mem()));
  i2d_X509_CRL_bio(out.get(), crl.get());
  return BioText(out.get());
}

TEST(RevocationList, ReportsWhichCertificateIsRevoked) {
  Authority authority;
  const Issued good = authority.Issue(NodeSpec("good")), bad = authority.Issue(NodeSpec("bad"));
  const std::string pem = authority.RevocationList({bad.certificate});
  for (const std::string& bytes : {pem, ToDer(pem)}) {
    const auto lists = Parse(bytes, authority);
    ASSERT_TRUE(lists.ok()) << lists.status();
    ASSERT_EQ(lists->size(), 1u);
    EXPECT_EQ(lists->front().size(), 1u);
    EXPECT_TRUE(lists->front().IsAbout(good.certificate));
    EXPECT_TRUE(lists->front().HasRevoked(bad.certificate));
    EXPECT_FALSE(lists->front().HasRevoked(good.certificate));
  }
}

TEST(RevocationList, MayBeEmptyAndNeverEnd) {
  Authority authority;
  const auto lists = Parse(authority.RevocationList({}, -absl::Minutes(1), absl::ZeroDuration()), authority);
  ASSERT_TRUE(lists.ok());
  EXPECT_EQ(lists->front().size(), 0u);
  EXPECT_EQ(lists->front().NextUpdate(), absl::InfiniteFuture());
}

TEST(RevocationList, ShowsItsNumberAndAge) {
  Authority authority;
  const absl::Time made = absl::Now() - absl::Hours(1);
  for (const uint32_t number : {0u, 7u}) {  // 0: none
    const auto lists = Parse(authority.RevocationList({}, -absl::Hours(1), absl::Hours(24), number), authority);
    ASSERT_TRUE(lists.ok());
    EXPECT_THAT(lists->front().ShowAge(), StartsWith(number == 0 ? "of 20" : "number 7, of 20"));
    EXPECT_LT(absl::AbsDuration(lists->front().ThisUpdate() - made), absl::Minutes(1));
  }
}

TEST(RevocationList, OfSeveralAuthoritiesStandInOneFile) {
  Authority one("One"), two("Two");
  const auto lists = ParseRevocationLists(one.RevocationList({}) + two.RevocationList({}),
                                          {one.certificate(), two.certificate()}, absl::Now());
  ASSERT_TRUE(lists.ok());
  EXPECT_EQ(lists->size(), 2u);
}

TEST(RevocationList, OfAnotherAuthorityOfTheSameNameIsRefused) {
  Authority ours("CA"), theirs("CA");
  const absl::Status status = Parse(theirs.RevocationList({}), ours).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("not signed"));
}

// A new authority under the old one's name: both are trusted while nodes move over.
TEST(RevocationList, SaysNothingAboutAnotherAuthorityOfTheSameName) {
  Authority old_one("CA"), new_one("CA");
  const auto lists =
      ParseRevocationLists(old_one.RevocationList({}), {new_one.certificate(), old_one.certificate()}, absl::Now());
  ASSERT_TRUE(lists.ok()) << lists.status();
  EXPECT_TRUE(lists->front().IsAbout(old_one.Issue(NodeSpec("a")).certificate));
  EXPECT_FALSE(lists->front().IsAbout(new_one.Issue(NodeSpec("a")).certificate));
}

TEST(RevocationList, IsRefusedWhenItIsGarbage) {
  Authority authority;
  const std::string pem = authority.RevocationList({authority.Issue(NodeSpec("x")).certificate});
  const std::string der = ToDer(pem);
  EXPECT_FALSE(Parse("", authority).ok());
  EXPECT_FALSE(Parse("garbage", authority).ok());
  EXPECT_FALSE(Parse(authority.pem(), authority).ok());
  EXPECT_FALSE(Parse(der + "x", authority).ok());
  for (size_t size = 1; size < pem.size() - 1; size += 11)
    EXPECT_FALSE(Parse(pem.substr(0, size), authority).ok()) << size;
  for (size_t size = 1; size < der.size(); size += 11) EXPECT_FALSE(Parse(der.substr(0, size), authority).ok()) << size;
  std::string flipped = der;
  flipped[flipped.size() - 5] ^= 1;
  EXPECT_FALSE(Parse(flipped, authority).ok());
}

TEST(RevocationList, FromTheFutureIsRefused) {
  Authority authority;
  const absl::Status status = Parse(authority.RevocationList({}, absl::Hours(1)), authority).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("check the clocks"));
  EXPECT_TRUE(Parse(authority.RevocationList({}, absl::Minutes(3)), authority).ok());
}

}  // namespace
}  // namespace muster
