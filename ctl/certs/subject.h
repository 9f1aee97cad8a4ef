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
  std::string name;                // the name of its folder and of its entries in the index: "node-3"
  std::string uri;                 // PeerName::ToUri; a scheduler's is for every job
  std::vector<std::string> hosts;  // DNS names and numeric addresses; only a scheduler has them
};

// Returns "scheduler", "node", "host" or "admin".
std::string KindWord(Kind kind);
std::optional<Kind> KindFromWord(const std::string& word);

// Allows at most 255 lower-case letters, digits, '.', '-' and '_', as in a SPIFFE trust domain.
absl::Status CheckTrustDomain(const std::string& text);
// Allows a numeric address, or a host name: letters, digits, '-', '_' and '.', at most 253 bytes, and at most 63
// between two dots.
absl::Status CheckHost(const std::string& text);
// Allows the name of a folder: like an id, but without a leading dot or dash.
absl::Status CheckName(const std::string& text);

// Return the subject with the name that is used if the user gives none: "scheduler", "node-3", "train-node-3",
// "host-gpu1", "admin", "train-admin". `job`: "*" means every job. Errors say which argument is wrong.
absl::StatusOr<Subject> SchedulerSubject(const std::string& trust_domain, const std::vector<std::string>& hosts);
absl::StatusOr<Subject> NodeSubject(const std::string& trust_domain, const std::string& job, const std::string& id);
absl::StatusOr<Subject> HostSubject(const std::string& trust_domain, const std::string& job, const std::string& host);
absl::StatusOr<Subject> AdminSubject(const std::string& trust_domain, const std::string& job);

}  // namespace muster::certs
