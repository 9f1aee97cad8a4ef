// The index of all certificates that an authority has issued: `index.json` in its folder. Pure.
//
//   {"schema": "muster.certificates/1", "trust_domain": "muster", "list_number": 3, "certificates": [
//     {"serial": "4f…", "name": "node-3", "kind": "node", "uri": "spiffe://muster/muster/*/node/3", "hosts": [],
//      "form": "pem", "not_before": "2026-11-21T08:00:00Z", "not_after": "2027-11-21T09:00:00Z",
//      "fingerprint": "…", "revoked_at": null, "reason": ""}],
//    "other_revoked": [{"serial": "5a…", "revoked_at": "2026-11-22T08:00:00Z", "reason": ""}]}
//
// "other_revoked" is left out if it is empty. A certificate has "unfinished": true until its files are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ctl/certs/subject.h"

namespace muster::certs {

// The form of the files with a certificate and its key: one PEM file without a password, or PKCS#12 with a password.
enum class Form { kPem, kP12 };

struct IndexEntry {
  std::string serial;  // lower-case hexadecimal
  Subject subject;
  Form form = Form::kPem;
  absl::Time not_before;
  absl::Time not_after;
  std::string fingerprint;  // SHA-256 of the DER, lower-case hexadecimal
  std::optional<absl::Time> revoked_at;
  std::string reason;
  bool is_unfinished = false;  // its files may be incomplete, because the command was interrupted

  bool IsLive(absl::Time now) const { return !revoked_at.has_value() && now < not_after; }
};

struct RevokedSerial {
  std::string serial;  // hexadecimal
  absl::Time at;
  std::string reason;  // see RevocationReasons; empty: none

  bool operator==(const RevokedSerial&) const = default;
};

struct Index {
  std::string trust_domain;
  uint64_t list_number = 0;  // the number of the latest revocation list
  std::vector<IndexEntry> entries;
  // Revoked certificates that are known only from a signed list, and not as entries.
  std::vector<RevokedSerial> others = {};

  // Returns the latest certificate with this name; null if there is none.
  const IndexEntry* Latest(const std::string& name) const;
  // True if a certificate of that name is neither revoked nor expired.
  bool HasLive(const std::string& name, absl::Time now) const;
};

// Returns "valid", "expired" or "revoked".
std::string StatusWord(const IndexEntry& entry, absl::Time now);

// Returns the time as "2026-11-21T09:00:00Z".
std::string TimeText(absl::Time time);

std::string IndexText(const Index& index);
// Parses the text of index.json. The error says what is wrong and where.
absl::StatusOr<Index> ParseIndex(const std::string& text);

}  // namespace muster::certs
