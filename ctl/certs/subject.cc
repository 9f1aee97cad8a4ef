#include "ctl/certs/subject.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"
#include "common/settings/values.h"

namespace muster::certs {
namespace {

constexpr size_t kMaxLabelBytes = 63;
constexpr size_t kMaxHosts = 64;

absl::Status CheckIdOrStar(const std::string& what, const std::string& text) {
  if (text == "*") return absl::OkStatus();
  const absl::Status status = CheckId(text);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(what, " ", Quoted(text), " ", std::string(status.message())));
}

std::string JobPart(const std::string& job) { return job == "*" ? "" : absl::StrCat(job, "-"); }

bool IsDnsName(const std::string& text) {
  if (text.empty() || text.size() > kMaxHostNameBytes) return false;
  for (const std::string& label : std::vector<std::string>(absl::StrSplit(text, '.'))) {
    if (label.empty() || label.size() > kMaxLabelBytes || label.front() == '-' || label.back() == '-') return false;
    if (!std::all_of(label.begin(), label.end(),
                     [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; }))
      return false;
  }
  return true;
}

}  // namespace

std::string KindWord(Kind kind) {
  switch (kind) {
    case Kind::kScheduler:
      return "scheduler";
    case Kind::kNode:
      return "node";
    case Kind::kHost:
      return "host";
    case Kind::kAdmin:
      return "admin";
  }
  return "";
}

std::optional<Kind> KindFromWord(const std::string& word) {
  for (const Kind kind : {Kind::kScheduler, Kind::kNode, Kind::kHost, Kind::kAdmin}) {
    if (KindWord(kind) == word) return kind;
  }
  return std::nullopt;
}

absl::Status CheckTrustDomain(const std::string& text) {
  if (IsTrustDomain(text) && text != "." && text != ".." && text.front() != '-') return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must be 1 to ", kMaxTrustDomainBytes,
                                                 " small letters, digits or . - _, and not begin with a dash"));
}

absl::Status CheckHost(const std::string& text) {
  const auto address = IpAddress::Parse(text);
  if (address && IsLinkLocal(*address)) return absl::InvalidArgumentError(kNoLinkLocal);
  if (address || IsDnsName(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "must be a host name (letters, digits, - and .) or a numeric address, without port");
}

absl::Status CheckName(const std::string& text) {
  if (!text.empty() && (text.front() == '.' || text.front() == '-')) {
    return absl::InvalidArgumentError(
        "must not begin with a dot or a dash, because other programs treat such names in a special way");
  }
  return CheckId(text);
}

absl::StatusOr<Subject> SchedulerSubject(const std::string& trust_domain, const std::vector<std::string>& hosts) {
  if (hosts.empty() || hosts.size() > kMaxHosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("a scheduler's certificate names 1 to ", kMaxHosts,
                     " hosts or addresses by which agents reach it: --host NAME, as often as needed"));
  }
  Subject subject{Kind::kScheduler, "scheduler", PeerName{Kind::kScheduler, trust_domain, "*", ""}.ToUri(), {}};
  std::vector<std::string> all = hosts;
  all.insert(all.end(), {"localhost", "127.0.0.1", "::1"});
  for (const std::string& host : all) {
    const absl::Status status = CheckHost(host);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--host ", Quoted(host), " ", std::string(status.message())));
    }
    const auto address = IpAddress::Parse(host);
    const std::string normal = address ? address->ToString() : absl::AsciiStrToLower(host);
    const bool is_new = std::find(subject.hosts.begin(), subject.hosts.end(), normal) == subject.hosts.end();
    if (is_new) subject.hosts.push_back(normal);
  }
  return subject;
}

absl::StatusOr<Subject> NodeSubject(const std::string& trust_domain, const std::string& job, const std::string& id) {
  if (absl::Status status = CheckIdOrStar("--job", job); !status.ok()) return status;
  if (absl::Status status = CheckIdOrStar("--id", id); !status.ok()) return status;
  return Subject{Kind::kNode,
                 absl::StrCat(JobPart(job), "node-", id == "*" ? "any" : id),
                 PeerName{Kind::kNode, trust_domain, job, id}.ToUri(),
                 {}};
}

absl::StatusOr<Subject> HostSubject(const std::string& trust_domain, const std::string& job, const std::string& host) {
  if (absl::Status status = CheckIdOrStar("--job", job); !status.ok()) return status;
  if (!IsDnsName(host) || !CheckId(host).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--host ", Quoted(host), " must be a machine's name, as `hostname` prints it there"));
  }
  return Subject{Kind::kHost,
                 absl::StrCat(JobPart(job), "host-", host),
                 PeerName{Kind::kHost, trust_domain, job, host}.ToUri(),
                 {}};
}

absl::StatusOr<Subject> AdminSubject(const std::string& trust_domain, const std::string& job) {
  if (absl::Status status = CheckIdOrStar("--job", job); !status.ok()) return status;
  return Subject{
      Kind::kAdmin, absl::StrCat(JobPart(job), "admin"), PeerName{Kind::kAdmin, trust_domain, job, ""}.ToUri(), {}};
}

}  // namespace muster::certs
