// One X.509 certificate, read-only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/material/openssl.h"

namespace muster {

inline constexpr size_t kMaxTlsFileBytes = 16 * 1024 * 1024;  // of any file that is read (revocation lists grow)
inline constexpr size_t kMaxCertificates = 256;               // in one file

// Cheap to copy: copies share the object, which never changes. Thread-safe.
class Certificate {
 public:
  Certificate() = default;  // none
  explicit Certificate(X509Ptr x509) : x509_(std::move(x509)) {}
  explicit operator bool() const { return x509_ != nullptr; }

  X509* get() const { return x509_.get(); }

  std::string Fingerprint() const;
  std::string Digest() const;  // the same as 32 bytes; empty if there is no memory for it
  std::string ToPem() const;
  std::string Subject() const;  // "CN=node1,O=Muster"
  std::string Issuer() const;
  std::string Serial() const;  // hexadecimal
  absl::Time NotBefore() const;
  absl::Time NotAfter() const;
  // Returns the URI names of the extension subjectAltName, byte for byte (they may hold NUL).
  std::vector<std::string> UriNames() const;
  // True if a DNS name (wildcards as in RFC 6125) or an IP address of subjectAltName is this host. Ignores the common
  // name.
  bool IsForHost(const std::string& host) const;

 private:
  std::shared_ptr<X509> x509_;
};

// Takes one more reference to OpenSSL's object.
Certificate Share(X509* x509);

// Returns SHA-256 of the DER form, 64 lower-case hexadecimal digits.
std::string FingerprintOf(const X509* x509);

// Returns "2026-11-21 09:00:00 UTC".
std::string ShowTime(absl::Time time);

// Returns all certificates of a PEM text, in order; ignores other blocks. INVALID_ARGUMENT if there is none, one is
// damaged, or there are too many.
absl::StatusOr<std::vector<Certificate>> ParseCertificates(const std::string& pem);

// Returns a BIO that reads `bytes`, which must outlive it.
BioPtr MemoryBio(const std::string& bytes);
std::string BioText(BIO* bio);

// Converts ASN1_TIME; InfinitePast if it can't be read (then nothing that it bounds is valid).
absl::Time ToAbslTime(const ASN1_TIME* time);

}  // namespace muster
