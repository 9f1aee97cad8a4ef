// The subject of a certificate: its URI name (common/tls/peer/peer_name.h) and its place in the folder. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tls/peer/peer_name.h"

namespace muster::certs {

using Kind = PeerName::Kind;

struct Subject {
  Kind kind = Kind::kNode;
  std::string name;                // of its folder and in the index: "node-3"
  std::string uri;                 // a PeerName's; a scheduler's is for every job
  std::vector<std::string> hosts;  // DNS names and numeric addresses, a scheduler's only
};

// "scheduler", "node", "host", "admin".
std::string KindWord(Kind kind);
std::optional<Kind> KindFromWord(const std::string& word);

// Allows lower-case letters, digits, '.', '-' and '_', at most 255: the alphabet of a SPIFFE trust domain.
absl::Status CheckTrustDomain(const std::string& text);
// Allows a numeric address or a name of letters, digits, '-', '_' and '.', at most 253 bytes, labels of at most 63.
absl::Status CheckHost(const std::string& text);
// Allows the name of a folder: like an id, but without a leading dot or dash.
absl::Status CheckName(const std::string& text);

// These give the name when the user gives none: "scheduler", "node-3", "train-node-3", "host-gpu1", "admin",
// "train-admin". Errors say which part is wrong. `job` "*": every job.
absl::StatusOr<Subject> SchedulerSubject(const std::string& trust_domain, const std::vector<std::string>& hosts);
absl::StatusOr<Subject> NodeSubject(const std::string& trust_domain, const std::string& job, const std::string& id);
absl::StatusOr<Subject> HostSubject(const std::string& trust_domain, const std::string& job, const std::string& host);
absl::StatusOr<Subject> AdminSubject(const std::string& trust_domain, const std::string& job);

}  // namespace muster::certs
