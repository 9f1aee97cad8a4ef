// A certificate authority: a key, its certificate, and what it signs. ECDSA on P-256, SHA-256 throughout.
//
// Reads no clock and no file. Backdates everything it signs by an hour, so that a machine with a slow clock accepts it.
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

// The values of --why: "key-compromise", "superseded", "cessation".
const std::vector<std::string>& RevocationReasons();

class Authority {
 public:
  static absl::StatusOr<Authority> Create(const std::string& trust_domain, absl::Time now, absl::Duration lifetime);
  // Fails if one of them can't be read or they don't belong together.
  static absl::StatusOr<Authority> FromPem(const std::string& certificate, const std::string& key);

  // Makes a new key and a certificate for it that ends after `lifetime`, or with the authority's own if that is sooner.
  // Usages: a scheduler is a TLS server, an admin a client, a node and a host both (their ring endpoints are servers).
  absl::StatusOr<Issued> Issue(const Subject& subject, absl::Time now, absl::Duration lifetime) const;

  // Returns the revocation list as PEM, version 2, with its number.
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

// Both are PEM. Fails if it is no list, has no number, or was not signed by that authority.
absl::StatusOr<SignedList> ReadList(const std::string& list, const std::string& authority_certificate);

}  // namespace muster::certs
