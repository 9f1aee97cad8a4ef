// OpenSSL's objects with one owner each, and its errors in words.
#pragma once

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace muster::certs {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

inline void FreeCertificates(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); }

using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using CertificateStack = std::unique_ptr<STACK_OF(X509), FreeWith<FreeCertificates>>;
using RevocationList = std::unique_ptr<X509_CRL, FreeWith<X509_CRL_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using Bundle = std::unique_ptr<PKCS12, FreeWith<PKCS12_free>>;
using Number = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using Integer = std::unique_ptr<ASN1_INTEGER, FreeWith<ASN1_INTEGER_free>>;
using Enumerated = std::unique_ptr<ASN1_ENUMERATED, FreeWith<ASN1_ENUMERATED_free>>;
using TimeValue = std::unique_ptr<ASN1_TIME, FreeWith<ASN1_TIME_free>>;
using AlternativeNames = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;

// What OpenSSL's last call of this thread complained of ("mac verify failure"), and forgets it.
std::string OpenSslReason();

// What a memory BIO holds.
std::string BioText(BIO* bio);
// A memory BIO that reads `text`, which must outlive it.
Bio ReadingBio(const std::string& text);

// PEM, or the error.
std::string CertificatePem(X509* certificate);
std::string PrivateKeyPem(EVP_PKEY* key);

// Lower-case hexadecimal: of a certificate's DER under SHA-256, and of a serial number (an even number of digits).
std::string Fingerprint(X509* certificate);
std::string SerialText(const ASN1_INTEGER* serial);

}  // namespace muster::certs
