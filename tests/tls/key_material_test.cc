#include "common/tls/material/key_material.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/provider.h>

#include <cstdlib>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_tls::Authority;
using testing_tls::Issued;
using testing_tls::NodeSpec;
using testing_tls::ToPkcs12;

constexpr char kPassword[] = "a pass-word of its own";

TEST(Pkcs12, BringsKeyAndChain) {
  Authority root;
  Authority middle = root.IssueAuthority("Middle");
  const Issued issued = middle.Issue(NodeSpec("n1"));
  const auto material = ParsePkcs12(ToPkcs12(issued, kPassword), Secret(kPassword));
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ(material->leaf().Fingerprint(), issued.certificate.Fingerprint());
  EXPECT_EQ(material->chain.size(), 2u);
  EXPECT_EQ(material->key_pem.text(), issued.key_pem);
  EXPECT_EQ(material->ChainPem(), issued.chain_pem);
}

TEST(Pkcs12, NeedsNoPasswordIfItHasNone) {
  Authority root;
  EXPECT_TRUE(ParsePkcs12(ToPkcs12(root.Issue(NodeSpec("n1")), ""), Secret()).ok());
}

TEST(Pkcs12, SaysThatThePasswordIsWrongButNotWhichItWas) {
  Authority root;
  const std::string bytes = ToPkcs12(root.Issue(NodeSpec("n1")), kPassword);
  for (const std::string wrong : {"", "letmein"}) {
    const absl::Status status = ParsePkcs12(bytes, Secret(wrong)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("password is wrong"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("letmein")));
  }
}

TEST(Pkcs12, IsRefusedWhereverItIsCutOff) {
  Authority root;
  const std::string bytes = ToPkcs12(root.Issue(NodeSpec("n1")), kPassword);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE(ParsePkcs12(bytes.substr(0, size), Secret(kPassword)).ok()) << size;
  }
  EXPECT_THAT(std::string(ParsePkcs12(bytes.substr(0, 100), Secret(kPassword)).status().message()),
              HasSubstr("cut off"));
  EXPECT_FALSE(ParsePkcs12("no such thing", Secret()).ok());
}

// The file that `openssl pkcs12 -export -legacy` writes. The program makes it, because this process must not load the
// legacy provider, which a user's process doesn't have.
TEST(Pkcs12, OfAnOldProgramSaysHowToConvertIt) {
  Authority root;
  const testing_tls::TlsFolder folder;
  folder.Write("all.pem", root.Issue(NodeSpec("n1")).all_pem());
  const std::string command = "openssl pkcs12 -export -legacy -certpbe PBE-SHA1-RC2-40 -passout pass:x -in " +
                              folder.path("all.pem") + " -out " + folder.path("old.p12") + " 2>/dev/null";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "no openssl program with the legacy provider";
  std::string bytes;
  {
    FILE* file = std::fopen(folder.path("old.p12").c_str(), "rb");
    char buffer[8192];
    bytes.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
    std::fclose(file);
  }
  const absl::Status status = ParsePkcs12(bytes, Secret("x")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("openssl pkcs12 -legacy"));
}

TEST(Pem, TakesKeyAndChainInOneTextInAnyOrder) {
  Authority root;
  const Issued issued = root.Issue(NodeSpec("n1"));
  for (const std::string& text :
       {issued.chain_pem + issued.key_pem, issued.key_pem + issued.chain_pem, root.pem() + issued.all_pem()}) {
    const auto material = ParsePem(text, text, Secret());
    ASSERT_TRUE(material.ok()) << material.status();
    EXPECT_EQ(material->leaf().Fingerprint(), issued.certificate.Fingerprint());
  }
}

TEST(Pem, RefusesAKeyOfAnotherPair) {
  Authority root;
  const absl::Status status =
      ParsePem(root.Issue(NodeSpec("n1")).chain_pem, root.Issue(NodeSpec("n1")).key_pem, Secret()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not belong"));
}

TEST(Pem, SaysWhatIsMissing) {
  Authority root;
  const Issued issued = root.Issue(NodeSpec("n1"));
  EXPECT_THAT(std::string(ParsePem(issued.chain_pem, issued.chain_pem, Secret()).status().message()),
              HasSubstr("no private key"));
  EXPECT_THAT(std::string(ParsePem(issued.key_pem, issued.key_pem, Secret()).status().message()),
              HasSubstr("no PEM certificate"));
  const std::string half = issued.chain_pem.substr(0, issued.chain_pem.size() / 2);
  EXPECT_FALSE(ParsePem(half + "\n-----END CERTIFICATE-----\n", issued.key_pem, Secret()).ok());
  EXPECT_FALSE(ParsePem(half, issued.key_pem, Secret()).ok());
}

TEST(Secret, IsWipedWhenItIsMovedFrom) {
  Secret first(std::string(100, 'x'));
  const Secret second = std::move(first);
  EXPECT_EQ(second.text(), std::string(100, 'x'));
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move)
  std::string text = "short";
  Wipe(text);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace muster
