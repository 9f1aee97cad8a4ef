#include "common/tls/tls_hand_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_replace.h"
#include "common/sys/secret_descriptor.h"
#include "tests/tls/pki.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing_tls::Issued;
using testing_tls::NodeSpec;

class TlsHandOver : public ::testing::Test {
 protected:
  TlsHandOver() {
    folder_.Write("ca.crt", authority_.pem());
    folder_.Write("client.pem", authority_.Issue(NodeSpec("n1")).all_pem());
    folder_.Write("crl.pem", authority_.RevocationList({}));
    options_.role = TlsRole::kClient;
    options_.settings.config = folder_.WriteConfig(true);
  }
  void Open() {
    auto store = TlsStore::Open(options_, Clock::System(), counted_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  std::string Pack() {
    const absl::StatusOr<std::string> packed = PackTls(*store_, *store_->Current()->identity);
    EXPECT_TRUE(packed.ok()) << packed.status();
    return packed.value_or("");
  }

  testing_tls::Authority authority_;
  testing_tls::TlsFolder folder_;
  TlsStore::Options options_;
  CountedLog counted_{Clock::System()};
  std::unique_ptr<TlsStore> store_;
};

TEST_F(TlsHandOver, NeedsNoFiles) {
  Open();
  const Issued bad = authority_.Issue(testing_tls::SchedulerSpec());
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}));
  ASSERT_TRUE(store_->Poll());
  const std::string packed = Pack();
  for (const char* file : {"ca.crt", "client.pem", "crl.pem", "tls.json"}) remove(folder_.path(file).c_str());
  const absl::StatusOr<HandedOverTls> handed = UnpackTls(packed, absl::Now());
  ASSERT_TRUE(handed.ok()) << handed.status();
  EXPECT_EQ(handed->state.identity->leaf().Fingerprint(), store_->Current()->identity->leaf().Fingerprint());
  EXPECT_EQ(handed->state.identity->key_pem.text(), store_->Current()->identity->key_pem.text());
  EXPECT_EQ(handed->state.own_name->id, "n1");
  EXPECT_TRUE(handed->settings.needs_name());
  EXPECT_EQ(handed->settings.crl_expired, "refuse");
  PeerRules rules;
  rules.peer_is = PeerSide::kServer;
  rules.trust_domain = testing_tls::kDomain;
  rules.host = "127.0.0.1";
  EXPECT_EQ(CheckPeer(*handed->state.trust, rules, bad.certificate, {}, absl::Now()).refusal.fault, TlsFault::kRevoked);
  const Issued good = authority_.Issue(testing_tls::SchedulerSpec());
  EXPECT_TRUE(CheckPeer(*handed->state.trust, rules, good.certificate, {}, absl::Now()).refusal.ok());
}

// Its revocation list stays in the file for a while and is refused; the other authority's list stays in force.
TEST_F(TlsHandOver, AnAuthorityThatIsTrustedNoMore) {
  testing_tls::Authority next("Next CA");
  const Issued bad = next.Issue(testing_tls::SchedulerSpec());
  folder_.Write("ca.crt", authority_.pem() + next.pem());
  folder_.Write("crl.pem", authority_.RevocationList({}) + next.RevocationList({bad.certificate}));
  folder_.Write("client.pem", next.Issue(NodeSpec("n1")).all_pem());
  Open();
  folder_.Write("ca.crt", next.pem());
  ASSERT_TRUE(store_->Poll());
  const absl::StatusOr<HandedOverTls> handed = UnpackTls(Pack(), absl::Now());
  ASSERT_TRUE(handed.ok()) << handed.status();
  EXPECT_EQ(CheckStillGood(*handed->state.trust, {bad.certificate}).fault, TlsFault::kRevoked);
}

TEST_F(TlsHandOver, CarriesTheCertificateThatWasAskedFor) {
  Open();
  const std::shared_ptr<const TlsState> before = store_->Current();
  folder_.Write("client.pem", authority_.Issue(NodeSpec("n1")).all_pem());
  ASSERT_TRUE(store_->Poll());
  const absl::StatusOr<HandedOverTls> handed = UnpackTls(*PackTls(*store_, *before->identity), absl::Now());
  ASSERT_TRUE(handed.ok()) << handed.status();
  EXPECT_EQ(handed->state.identity->leaf().Fingerprint(), before->identity->leaf().Fingerprint());
}

TEST_F(TlsHandOver, CaOnlyStaysWhatItIsAndNothingElseBecomesIt) {
  options_.settings.identity = "ca-only";
  options_.settings.crl_expired = "serve";
  Open();
  const std::string packed = Pack();
  const absl::StatusOr<HandedOverTls> handed = UnpackTls(packed, absl::Now());
  ASSERT_TRUE(handed.ok()) << handed.status();
  EXPECT_FALSE(handed->settings.needs_name());
  EXPECT_EQ(handed->settings.crl_expired, "serve");
  EXPECT_FALSE(UnpackTls(absl::StrReplaceAll(packed, {{"\"identity\"", "\"other\""}}), absl::Now()).ok());
}

TEST_F(TlsHandOver, HugeListsStayInTheirFile) {
  Open();
  std::vector<Certificate> many;
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  for (int i = 0; i < 40'000; ++i) many.push_back(bad.certificate);
  folder_.Write("crl.pem", authority_.RevocationList(many));
  ASSERT_TRUE(store_->Poll());
  const std::string packed = Pack();
  EXPECT_LT(packed.size(), kMaxSecretBytes / 2);
  ASSERT_TRUE(UnpackTls(packed, absl::Now()).ok());
  remove(folder_.path("crl.pem").c_str());
  EXPECT_FALSE(UnpackTls(packed, absl::Now()).ok());
}

TEST_F(TlsHandOver, WhatIsMalformedIsAnError) {
  Open();
  const std::string packed = Pack();
  for (const std::string& bytes :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("\xff\xfe"),
        packed.substr(0, packed.size() / 2), absl::StrReplaceAll(packed, {{"BEGIN CERTIFICATE", "BEGIN NOTHING"}}),
        absl::StrReplaceAll(packed, {{"BEGIN PRIVATE KEY", "BEGIN NOTHING"}}),
        absl::StrReplaceAll(packed, {{"BEGIN X509 CRL", "BEGIN NOTHING"}})}) {
    EXPECT_FALSE(UnpackTls(bytes, absl::Now()).ok()) << bytes.substr(0, 40);
  }
}

TEST_F(TlsHandOver, IsTakenOnce) {
  Open();
  const absl::StatusOr<int> fd = MakeSecretDescriptor(Pack());
  ASSERT_TRUE(fd.ok());
  setenv(kTlsHandOverVariable, std::to_string(*fd).c_str(), 1);
  auto taken = TakeHandedOverTls(absl::Now());
  ASSERT_TRUE(taken.ok() && taken->has_value()) << taken.status();
  EXPECT_EQ(getenv(kTlsHandOverVariable), nullptr);
  taken = TakeHandedOverTls(absl::Now());
  ASSERT_TRUE(taken.ok());
  EXPECT_FALSE(taken->has_value());
  setenv(kTlsHandOverVariable, "x", 1);
  EXPECT_FALSE(TakeHandedOverTls(absl::Now()).ok());
}

// Names don't count there, so another name is no reason to keep an old certificate.
TEST_F(TlsHandOver, UnderCaOnlyARenewedCertificateMayHaveAnotherName) {
  options_.settings.identity = "ca-only";
  Open();
  const Issued renewed = authority_.Issue(NodeSpec("another"));
  folder_.Write("client.pem", renewed.all_pem());
  EXPECT_TRUE(store_->Poll());
  EXPECT_EQ(store_->Current()->identity->leaf().Fingerprint(), renewed.certificate.Fingerprint());
}

}  // namespace
}  // namespace muster
