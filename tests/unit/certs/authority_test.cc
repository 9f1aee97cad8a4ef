#include "ctl/certs/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <string>

#include "ctl/certs/inspect.h"
#include "tests/unit/certs/times.h"

namespace muster::certs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class AuthorityTest : public testing::Test {
 protected:
  Authority authority_ = *Authority::Create("muster", kNow, 10 * kYear);

  CertificateFacts FactsOf(X509* certificate) {
    return InspectBytes("x", CertificatePem(certificate), {})->certificates.front();
  }

  // OpenSSL's judgement of the certificate for that purpose, at that time, with that list.
  std::string VerifyText(X509* certificate, int purpose, absl::Time at, const std::string& list_pem = "") {
    const std::unique_ptr<X509_STORE, OpenSslDelete<X509_STORE_free>> store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), authority_.certificate());
    X509CrlPtr list;
    if (!list_pem.empty()) {
      const BioPtr bio = MemoryBio(list_pem);
      list.reset(PEM_read_bio_X509_CRL(bio.get(), nullptr, RefusePassphrase, nullptr));
      X509_STORE_add_crl(store.get(), list.get());
      X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK);
    }
    const std::unique_ptr<X509_STORE_CTX, OpenSslDelete<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr);
    X509_STORE_CTX_set_purpose(context.get(), purpose);
    X509_STORE_CTX_set_time(context.get(), 0, absl::ToTimeT(at));
    const bool is_good = X509_verify_cert(context.get()) == 1;
    ERR_clear_error();
    return is_good ? "ok" : X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  }
};

TEST_F(AuthorityTest, UsagesAreTheKindsOwn) {
  const auto scheduler = authority_.Issue(*SchedulerSubject("muster", {"n1"}), kNow, kYear);
  const auto node = authority_.Issue(*NodeSubject("muster", "*", "1"), kNow, kYear);
  const auto admin = authority_.Issue(*AdminSubject("muster", "*"), kNow, kYear);
  ASSERT_TRUE(scheduler.ok() && node.ok() && admin.ok());
  EXPECT_EQ(VerifyText(scheduler->certificate.get(), X509_PURPOSE_SSL_SERVER, kNow), "ok");
  EXPECT_NE(VerifyText(scheduler->certificate.get(), X509_PURPOSE_SSL_CLIENT, kNow), "ok");
  EXPECT_EQ(VerifyText(node->certificate.get(), X509_PURPOSE_SSL_CLIENT, kNow), "ok");
  EXPECT_EQ(VerifyText(node->certificate.get(), X509_PURPOSE_SSL_SERVER, kNow), "ok");
  EXPECT_EQ(VerifyText(admin->certificate.get(), X509_PURPOSE_SSL_CLIENT, kNow), "ok");
  EXPECT_NE(VerifyText(admin->certificate.get(), X509_PURPOSE_SSL_SERVER, kNow), "ok");
}

TEST_F(AuthorityTest, NamesStandInTheCertificate) {
  const auto issued = authority_.Issue(*SchedulerSubject("muster", {"n1", "10.0.0.1"}), kNow, kYear);
  const CertificateFacts facts = FactsOf(issued->certificate.get());
  EXPECT_THAT(facts.uris, ElementsAre("spiffe://muster/muster/*/scheduler"));
  EXPECT_THAT(facts.hosts, UnorderedElementsAre("n1", "localhost", "10.0.0.1", "127.0.0.1", "::1"));
  EXPECT_EQ(facts.key, "EC prime256v1, 256 bits");
  EXPECT_EQ(facts.signature, "ecdsa-with-SHA256");
  EXPECT_FALSE(facts.is_authority);
  EXPECT_EQ(facts.fingerprint, FingerprintOf(issued->certificate.get()));
}

TEST_F(AuthorityTest, LifetimesBeginAnHourAgoAndEndWithTheAuthority) {
  const auto issued = authority_.Issue(*AdminSubject("muster", "*"), kNow, kYear);
  X509* certificate = issued->certificate.get();
  EXPECT_EQ(VerifyText(certificate, X509_PURPOSE_SSL_CLIENT, kNow - absl::Minutes(59)), "ok");
  EXPECT_THAT(VerifyText(certificate, X509_PURPOSE_SSL_CLIENT, kNow - absl::Minutes(61)), HasSubstr("not yet valid"));
  EXPECT_EQ(VerifyText(certificate, X509_PURPOSE_SSL_CLIENT, kNow + kYear - absl::Seconds(1)), "ok");
  EXPECT_THAT(VerifyText(certificate, X509_PURPOSE_SSL_CLIENT, kNow + kYear + absl::Seconds(1)), HasSubstr("expired"));
  const auto late = authority_.Issue(*AdminSubject("muster", "*"), kNow + 9.5 * kYear, kYear);
  EXPECT_EQ(ToAbslTime(X509_get0_notAfter(late->certificate.get())), authority_.not_after());
}

TEST_F(AuthorityTest, SerialsAndKeysDiffer) {
  const auto one = authority_.Issue(*AdminSubject("muster", "*"), kNow, kYear);
  const auto two = authority_.Issue(*AdminSubject("muster", "*"), kNow, kYear);
  EXPECT_NE(SerialText(X509_get0_serialNumber(one->certificate.get())),
            SerialText(X509_get0_serialNumber(two->certificate.get())));
  EXPECT_NE(X509_check_private_key(one->certificate.get(), two->key.get()), 1);
  EXPECT_EQ(X509_check_private_key(one->certificate.get(), one->key.get()), 1);
}

TEST_F(AuthorityTest, TheListRevokesWhatIsOnIt) {
  const auto good = authority_.Issue(*AdminSubject("muster", "*"), kNow, kYear);
  const auto bad = authority_.Issue(*AdminSubject("muster", "*"), kNow, kYear);
  const std::string serial = SerialText(X509_get0_serialNumber(bad->certificate.get()));
  const auto list = authority_.SignList({{serial, kNow, "key-compromise"}, {"0a", kNow, ""}}, 3, kNow, kNow + kYear);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(VerifyText(good->certificate.get(), X509_PURPOSE_SSL_CLIENT, kNow, *list), "ok");
  EXPECT_EQ(VerifyText(bad->certificate.get(), X509_PURPOSE_SSL_CLIENT, kNow, *list), "certificate revoked");
  const ListFacts facts = InspectBytes("x", *list, {})->lists.front();
  EXPECT_EQ(facts.number, "3");
  EXPECT_EQ(facts.next_update, kNow + kYear);
  EXPECT_THAT(facts.serials, UnorderedElementsAre(serial, "0a"));
}

TEST_F(AuthorityTest, ComesBackFromPem) {
  const auto again = Authority::FromPem(authority_.CertificateText(), authority_.KeyText());
  ASSERT_TRUE(again.ok()) << again.status();
  const auto issued = again->Issue(*AdminSubject("muster", "*"), kNow, kYear);
  EXPECT_EQ(VerifyText(issued->certificate.get(), X509_PURPOSE_SSL_CLIENT, kNow), "ok");
}

TEST_F(AuthorityTest, AKeyOfAnotherAuthorityIsRefused) {
  const auto other = Authority::Create("muster", kNow, kYear);
  EXPECT_THAT(std::string(Authority::FromPem(authority_.CertificateText(), other->KeyText()).status().message()),
              HasSubstr("don't belong together"));
  EXPECT_FALSE(Authority::FromPem("", authority_.KeyText()).ok());
  EXPECT_FALSE(Authority::FromPem(authority_.CertificateText(), "x").ok());
}

TEST_F(AuthorityTest, AnotherAuthorityOfTheSameNameIsNotBelieved) {
  const auto other = Authority::Create("muster", kNow, kYear);
  const auto issued = other->Issue(*AdminSubject("muster", "*"), kNow, kYear);
  EXPECT_NE(VerifyText(issued->certificate.get(), X509_PURPOSE_SSL_CLIENT, kNow), "ok");
}

}  // namespace
}  // namespace muster::certs
