// A certificate revocation list (RFC 5280), read-only and thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/material/certificate.h"
#include "common/tls/material/openssl.h"

namespace muster {

inline constexpr size_t kMaxRevocationLists = 64;  // in one file

class RevocationList {
 public:
  explicit RevocationList(X509CrlPtr crl) : crl_(std::move(crl)) {}
  // Finds the authority that signed the list. Returns false if none of them did; the list is then not valid.
  bool FindSigner(const std::vector<Certificate>& authorities);

  absl::Time ThisUpdate() const;
  // Returns InfiniteFuture if the list has no such time.
  absl::Time NextUpdate() const;
  // Returns a text that distinguishes the list from others of the same authority: "number 7, of 2026-11-22 16:27:58
  // UTC".
  std::string ShowAge() const;
  std::string Issuer() const;
  std::string ToPem() const;
  size_t size() const;  // number of revoked certificates

  // True if the authority that signed the list also issued the certificate. Compares keys, because two authorities may
  // have the same name.
  bool IsAbout(const Certificate& certificate) const;
  bool HasRevoked(const Certificate& certificate) const;

  // Compare authorities by name and key, because one authority may have several certificates.
  bool IsOfSameAuthority(const RevocationList& other) const;
  bool IsByOneOf(const std::vector<Certificate>& authorities) const;
  // Compares two lists of one authority by their numbers (RFC 5280, 5.2.3), or by their dates if they have none. False
  // for lists of different authorities.
  bool IsOlderThan(const RevocationList& other) const;

 private:
  bool IsSignedBy(const Certificate& authority) const;

  std::shared_ptr<X509_CRL> crl_;
  Certificate signer_;
};

// Returns all lists of a PEM text, or the one list of a DER file. Each must be signed by one of `authorities` and must
// have begun by `now`. Delta lists, indirect lists, and lists for only some revocation reasons are refused. The error
// says which rule is broken.
absl::StatusOr<std::vector<RevocationList>> ParseRevocationLists(const std::string& bytes,
                                                                 const std::vector<Certificate>& authorities,
                                                                 absl::Time now);

}  // namespace muster
