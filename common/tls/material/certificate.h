// One X.509 certificate, read-only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/material/openssl.h"

namespace muster {

inline constexpr size_t kMaxTlsFileBytes = 16 * 1024 * 1024;  // of any file; revocation lists grow
inline constexpr size_t kMaxCertificates = 256;               // in one file

// A certificate. Cheap to copy: copies share one object, which never changes. Thread-safe.
class Certificate {
 public:
  Certificate() = default;  // holds no certificate
  explicit Certificate(X509Ptr x509) : x509_(std::move(x509)) {}
  explicit operator bool() const { return x509_ != nullptr; }

  X509* get() const { return x509_.get(); }

  std::string Fingerprint() const;
  std::string Digest() const;  // the fingerprint as 32 bytes; empty if memory is short
  std::string ToPem() const;
  std::string Subject() const;  // "CN=node1,O=Muster"
  std::string Issuer() const;
  std::string Serial() const;  // hexadecimal
  absl::Time NotBefore() const;
  absl::Time NotAfter() const;
  // Returns the URI names in the extension subjectAltName, byte for byte. They may contain NUL.
  std::vector<std::string> UriNames() const;
  // True if `host` matches a DNS name (with wildcards as in RFC 6125) or an IP address in subjectAltName. Ignores the
  // common name.
  bool IsForHost(const std::string& host) const;

 private:
  std::shared_ptr<X509> x509_;
};

// Returns a Certificate that shares OpenSSL's object: it takes a reference of its own.
Certificate Share(X509* x509);

// Returns the SHA-256 of the certificate's DER form, as 64 lower-case hexadecimal digits.
std::string FingerprintOf(const X509* x509);

// Returns "2026-11-21 09:00:00 UTC".
std::string ShowTime(absl::Time time);

// Returns all certificates of a PEM text, in order. Ignores other blocks. INVALID_ARGUMENT if there is none, if one is
// damaged, or if there are too many.
absl::StatusOr<std::vector<Certificate>> ParseCertificates(const std::string& pem);

// Returns a BIO that reads `bytes`, which must outlive it.
BioPtr MemoryBio(const std::string& bytes);
std::string BioText(BIO* bio);

// Converts an ASN1_TIME. Returns InfinitePast if it can't be read, so that nothing with this time is valid.
absl::Time ToAbslTime(const ASN1_TIME* time);

}  // namespace muster
