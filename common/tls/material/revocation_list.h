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
  // Which of them has signed it. False: none; it says nothing then.
  bool FindSigner(const std::vector<Certificate>& authorities);

  absl::Time ThisUpdate() const;
  // InfiniteFuture when it names none.
  absl::Time NextUpdate() const;
  // What tells it from the other lists of its authority: "number 7, of 2026-11-22 16:27:58 UTC".
  std::string ShowAge() const;
  std::string Issuer() const;
  std::string ToPem() const;
  size_t size() const;  // how many certificates are on it

  // Whether the authority that has signed it issued the certificate: two of one name are told apart by their keys.
  bool IsAbout(const Certificate& certificate) const;
  bool HasRevoked(const Certificate& certificate) const;

  // By name and key: an authority may have several certificates.
  bool IsOfSameAuthority(const RevocationList& other) const;
  bool IsByOneOf(const std::vector<Certificate>& authorities) const;
  // Of lists that one authority signed: by their numbers (RFC 5280, 5.2.3), else by when they were made. False for
  // lists of different authorities.
  bool IsOlderThan(const RevocationList& other) const;

 private:
  bool IsSignedBy(const Certificate& authority) const;

  std::shared_ptr<X509_CRL> crl_;
  Certificate signer_;
};

// All lists of a PEM text, or the one of a DER file. Each must be signed by one of `authorities`, must have begun at
// `now`, and may not be a kind that says less than it seems to (delta or indirect lists, lists by reason). An error
// says which rule is broken.
absl::StatusOr<std::vector<RevocationList>> ParseRevocationLists(const std::string& bytes,
                                                                 const std::vector<Certificate>& authorities,
                                                                 absl::Time now);

}  // namespace muster
