// A certificate authority: its key, its certificate, and the signing of certificates and revocation lists. All keys are
// ECDSA on P-256; all signatures use SHA-256.
//
// Reads no clock and no file. Everything that it signs is valid from an hour ago, so that a machine with a slow clock
// accepts it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ctl/certs/index.h"
#include "ctl/certs/openssl_handles.h"
#include "ctl/certs/subject.h"

namespace muster::certs {

struct Issued {
  EvpKeyPtr key;
  X509Ptr certificate;
};

// The reasons that `ms-ctl certs revoke --reason` accepts: "key-compromise", "superseded", "cessation".
const std::vector<std::string>& RevocationReasons();

class Authority {
 public:
  static absl::StatusOr<Authority> Create(const std::string& trust_domain, absl::Time now, absl::Duration lifetime);
  // Reads the authority's certificate and key. Fails if one of them can't be read, or the key is not the certificate's.
  static absl::StatusOr<Authority> FromPem(const std::string& certificate, const std::string& key);

  // Makes a new key and a certificate for it. The certificate ends after `lifetime`, or with the authority's own
  // certificate if that ends sooner. A scheduler's is for TLS servers, an admin's for clients. A node's or host's is
  // for both, because ms-ring accepts connections on nodes.
  absl::StatusOr<Issued> Issue(const Subject& subject, absl::Time now, absl::Duration lifetime) const;

  // Returns a signed revocation list (version 2, PEM) with this number.
  absl::StatusOr<std::string> SignList(const std::vector<RevokedSerial>& revoked, uint64_t number, absl::Time now,
                                       absl::Time next_update) const;

  std::string CertificateText() const { return CertificatePem(certificate_.get()); }
  std::string KeyText() const { return PrivateKeyPem(key_.get()); }
  X509* certificate() const { return certificate_.get(); }
  absl::Time not_after() const;

 private:
  Authority(EvpKeyPtr key, X509Ptr certificate) : key_(std::move(key)), certificate_(std::move(certificate)) {}

  EvpKeyPtr key_;
  X509Ptr certificate_;
};

// The content of a revocation list.
struct SignedList {
  uint64_t number = 0;
  absl::Time next_update;
  std::vector<RevokedSerial> revoked;
};

// Reads a revocation list. Both arguments are PEM. Fails if `list` is no revocation list, has no number, or was not
// signed by this authority.
absl::StatusOr<SignedList> ReadList(const std::string& list, const std::string& authority_certificate);

}  // namespace muster::certs
