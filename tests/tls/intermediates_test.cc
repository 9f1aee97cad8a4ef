#include "common/tls/material/intermediates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using testing_tls::Authority;
using testing_tls::NodeSpec;

std::vector<std::string> Fingerprints(const std::vector<Certificate>& certificates) {
  std::vector<std::string> all;
  for (const Certificate& certificate : certificates) all.push_back(certificate.Fingerprint());
  return all;
}

TEST(Intermediates, TheOneThatIsNotUsedMakesRoom) {
  Authority root;
  Intermediates known;
  const auto learn = [&](const Certificate& middle) { known.Learn({middle, middle, root.certificate()}); };
  const Certificate unused = root.IssueAuthority("unused").certificate();
  const Certificate used = root.IssueAuthority("used").certificate();
  learn(used);
  learn(unused);
  for (size_t i = 2; i < Intermediates::kMost; ++i) learn(root.IssueAuthority("another").certificate());
  learn(used);
  EXPECT_EQ(known.All().size(), Intermediates::kMost);
  learn(root.IssueAuthority("one too many").certificate());
  const std::vector<std::string> all = Fingerprints(known.All());
  EXPECT_EQ(all.size(), Intermediates::kMost);
  EXPECT_EQ(std::count(all.begin(), all.end(), used.Fingerprint()), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), unused.Fingerprint()), 0);
}

TEST(IssuersOf, GoesUpByNameAndSignature) {
  Authority root, namesake, foreign("Stranger");
  Authority middle = root.IssueAuthority("Middle"), other = root.IssueAuthority("Middle");
  Authority low = middle.IssueAuthority("Low");
  const Certificate leaf = low.Issue(NodeSpec("n1")).certificate;
  const std::vector<Certificate> candidates = {namesake.certificate(),
                                               foreign.certificate(),
                                               root.certificate(),
                                               other.certificate(),
                                               middle.certificate(),
                                               low.certificate(),
                                               leaf};
  const Issuers issuers = IssuersOf(leaf, candidates);
  EXPECT_EQ(Fingerprints(issuers.found), Fingerprints({low.certificate(), middle.certificate(), root.certificate()}));
  EXPECT_TRUE(issuers.are_all);
  EXPECT_TRUE(IssuersOf(root.certificate(), {middle.certificate()}).found.empty());
}

TEST(IssuersOf, SaysWhenThereAreMore) {
  Authority root;
  Authority middle = root.IssueAuthority("Middle");
  const Certificate leaf = middle.Issue(NodeSpec("n1")).certificate;
  std::vector<Certificate> candidates;
  for (int i = 0; i < 16; ++i) candidates.push_back(root.Renew(middle, "Middle"));
  EXPECT_TRUE(IssuersOf(leaf, candidates).are_all);
  candidates.push_back(middle.certificate());
  const Issuers issuers = IssuersOf(leaf, candidates);
  EXPECT_FALSE(issuers.are_all);
  EXPECT_EQ(issuers.found.size(), 16u);
}

}  // namespace
}  // namespace muster
