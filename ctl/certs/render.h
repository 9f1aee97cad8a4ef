// The output of `ms-ctl certs`: text for people, JSON for scripts. Pure.
//
// In JSON, times are "2026-11-21T09:00:00Z", and a member that doesn't apply is null. Members may be added later.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "ctl/certs/folder.h"
#include "ctl/certs/index.h"
#include "ctl/certs/inspect.h"

namespace muster::certs {

// The output of init.
std::string RenderAuthority(const CertFolder& folder);
std::string AuthorityJson(const CertFolder& folder);

// The output of scheduler, node, admin and renew: what was made, and what to do with it.
std::string RenderIssued(const CertFolder& folder, const std::vector<IndexEntry>& issued);
std::string IssuedJson(const CertFolder& folder, const std::vector<IndexEntry>& issued);

// The output of revoke and crl. `revoked`: the certificates that this call revoked. `already`: those that the user
// named, but that were revoked before.
std::string RenderRevoked(const CertFolder& folder, const std::vector<IndexEntry>& revoked,
                          const std::vector<IndexEntry>& already, absl::Time now);
std::string RevokedJson(const CertFolder& folder, const std::vector<IndexEntry>& revoked,
                        const std::vector<IndexEntry>& already, absl::Time now);

std::string RenderList(const CertFolder& folder, absl::Time now);
std::string ListJson(const CertFolder& folder, absl::Time now);

std::string RenderFile(const FileFacts& facts, absl::Time now);
std::string FileJson(const FileFacts& facts, absl::Time now);

}  // namespace muster::certs
