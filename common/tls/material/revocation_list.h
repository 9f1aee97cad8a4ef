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
  // Finds the authority that signed the list. False if none did; then the list counts for nothing.
  bool FindSigner(const std::vector<Certificate>& authorities);

  absl::Time ThisUpdate() const;
  // InfiniteFuture if the list has none.
  absl::Time NextUpdate() const;
  // Returns what sets the list apart from others of its authority: "number 7, of 2026-11-22 16:27:58 UTC".
  std::string ShowAge() const;
  std::string Issuer() const;
  std::string ToPem() const;
  size_t size() const;  // how many certificates are on it

  // True if the authority that signed the list issued the certificate. Keys distinguish two authorities of one name.
  bool IsAbout(const Certificate& certificate) const;
  bool HasRevoked(const Certificate& certificate) const;

  // Compares by name and key: an authority may have several certificates.
  bool IsOfSameAuthority(const RevocationList& other) const;
  bool IsByOneOf(const std::vector<Certificate>& authorities) const;
  // Compares lists that one authority signed: by their numbers (RFC 5280, 5.2.3), else by their dates. False for lists
  // of different authorities.
  bool IsOlderThan(const RevocationList& other) const;

 private:
  bool IsSignedBy(const Certificate& authority) const;

  std::shared_ptr<X509_CRL> crl_;
  Certificate signer_;
};

// Returns all lists of a PEM text, or the one of a DER file. Each must be signed by one of `authorities`, must have
// begun at `now`, and must not be of a kind with a narrower meaning (delta or indirect lists, lists by reason). An
// error says which rule is broken.
absl::StatusOr<std::vector<RevocationList>> ParseRevocationLists(const std::string& bytes,
                                                                 const std::vector<Certificate>& authorities,
                                                                 absl::Time now);

}  // namespace muster
