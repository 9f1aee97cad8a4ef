// Whom a certificate is for: the URI name that says so (common/tls/peer/peer_name.h), and its place in the folder.
// Pure.
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
  std::string name;                // of its folder and its place in the index: "node-3"
  std::string uri;                 // a PeerName's; a scheduler's is for every job
  std::vector<std::string> hosts;  // DNS names and numeric addresses, a scheduler's only
};

// "scheduler", "node", "host", "admin".
std::string KindWord(Kind kind);
std::optional<Kind> KindFromWord(const std::string& word);

// Lower-case letters, digits, '.', '-' and '_', at most 255: what a SPIFFE trust domain may be.
absl::Status CheckTrustDomain(const std::string& text);
// A numeric address or a name of letters, digits, '-', '_' and '.', at most 253 bytes, labels of at most 63.
absl::Status CheckHost(const std::string& text);
// What may name a folder: like an id, but not with a leading dot or dash.
absl::Status CheckName(const std::string& text);

// The names that are given when the user gives none: "scheduler", "node-3", "train-node-3", "host-gpu1", "admin",
// "train-admin". Errors say which part is wrong. `job` "*": every job.
absl::StatusOr<Subject> SchedulerSubject(const std::string& trust_domain, const std::vector<std::string>& hosts);
absl::StatusOr<Subject> NodeSubject(const std::string& trust_domain, const std::string& job, const std::string& id);
absl::StatusOr<Subject> HostSubject(const std::string& trust_domain, const std::string& job, const std::string& host);
absl::StatusOr<Subject> AdminSubject(const std::string& trust_domain, const std::string& job);

}  // namespace muster::certs
