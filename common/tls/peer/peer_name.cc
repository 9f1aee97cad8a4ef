#include "common/tls/peer/peer_name.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/ids.h"
#include "common/base/text.h"

namespace muster {
namespace {

constexpr char kScheme[] = "spiffe://";
constexpr char kExpected[] =
    "expected spiffe://<trust domain>/muster/<job or *>/ followed by node/<id or *>, host/<name>/*, scheduler or admin";

PeerNameResult Refuse(TlsFault fault, const std::string& text) { return {{fault, text}, {}}; }

PeerNameResult Malformed(const std::string& uri) {
  return Refuse(TlsFault::kNameMalformed,
                absl::StrCat("the certificate's URI name ", Quoted(uri), " is not accepted: ", kExpected));
}

bool IsIdOrAny(const std::string& text) { return text == "*" || IsId(text); }

}  // namespace

bool IsTrustDomain(const std::string& text) {
  return !text.empty() && text.size() <= kMaxTrustDomainBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           c == '.' || c == '-' || c == '_';
  });
}

std::string PeerName::ToUri() const {
  const std::string base = absl::StrCat(kScheme, trust_domain, "/muster/", job);
  switch (kind) {
    case Kind::kNode:
      return absl::StrCat(base, "/node/", id);
    case Kind::kHost:
      return absl::StrCat(base, "/host/", id, "/*");
    case Kind::kScheduler:
      return absl::StrCat(base, "/scheduler");
    case Kind::kAdmin:
      return absl::StrCat(base, "/admin");
  }
  return base;
}

PeerNameResult ParsePeerName(const std::string& uri) {
  if (uri.find('\0') != std::string::npos) {
    return Refuse(TlsFault::kNameWithNul, "the certificate's URI name holds a NUL byte");
  }
  if (uri.size() > kMaxPeerNameBytes) {
    return Refuse(TlsFault::kNameTooLong, absl::StrCat("the certificate's URI name has ", uri.size(),
                                                       " bytes; at most ", kMaxPeerNameBytes, " are allowed"));
  }
  if (!absl::StartsWith(uri, kScheme)) return Malformed(uri);
  const std::vector<std::string> parts = absl::StrSplit(uri.substr(sizeof(kScheme) - 1), '/');
  // The parts are the trust domain, "muster", the job, the kind, and what belongs to the kind.
  if (parts.size() < 4 || parts.size() > 6 || !IsTrustDomain(parts[0]) || parts[1] != "muster" ||
      !IsIdOrAny(parts[2])) {
    return Malformed(uri);
  }
  PeerName name;
  name.trust_domain = parts[0];
  name.job = parts[2];
  if (parts.size() == 4 && parts[3] == "scheduler") {
    name.kind = PeerName::Kind::kScheduler;
  } else if (parts.size() == 4 && parts[3] == "admin") {
    name.kind = PeerName::Kind::kAdmin;
  } else if (parts.size() == 5 && parts[3] == "node" && IsIdOrAny(parts[4])) {
    name.kind = PeerName::Kind::kNode;
    name.id = parts[4];
  } else if (parts.size() == 6 && parts[3] == "host" && IsId(parts[4]) && parts[5] == "*") {
    name.kind = PeerName::Kind::kHost;
    name.id = parts[4];
  } else {
    return Malformed(uri);
  }
  return {{}, std::move(name)};
}

PeerNameResult NameOf(const Certificate& certificate) {
  const std::vector<std::string> uris = certificate.UriNames();
  if (uris.empty()) {
    return Refuse(TlsFault::kNameMissing, absl::StrCat("the certificate ", certificate.Subject(),
                                                       " has no URI name (subjectAltName): ", kExpected));
  }
  if (uris.size() > 1) {
    return Refuse(TlsFault::kNameDoubled, absl::StrCat("the certificate ", certificate.Subject(), " has ", uris.size(),
                                                       " URI names; it must have exactly one"));
  }
  return ParsePeerName(uris[0]);
}

}  // namespace muster
