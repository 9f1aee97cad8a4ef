#include "scheduler/http/access.h"

#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/sha256.h"
#include "common/base/text.h"
#include "common/net/ip_address.h"
#include "common/sys/file_io.h"
#include "common/tls/material/secret.h"

namespace muster::http {
namespace {

bool IsPort(absl::string_view text) {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

std::string NameOfHost(absl::string_view host) {
  if (host.empty() || host.size() > 260) return "";
  if (host.front() == '[') {
    const size_t end = host.find(']');
    if (end == absl::string_view::npos) return "";
    const absl::string_view rest = host.substr(end + 1);
    if (!rest.empty() && (rest.front() != ':' || !IsPort(rest.substr(1)))) return "";
    return std::string(host.substr(1, end - 1));
  }
  if (const size_t colon = host.find(':'); colon != absl::string_view::npos) {
    if (!IsPort(host.substr(colon + 1))) return "";
    host = host.substr(0, colon);
  }
  return absl::AsciiStrToLower(absl::StripSuffix(host, "."));
}

HostRule::HostRule(std::set<std::string> names) {
  names_.insert("localhost");
  for (const std::string& name : names) names_.insert(absl::AsciiStrToLower(absl::StripSuffix(name, ".")));
  names_.erase("");
}

bool HostRule::Takes(absl::string_view host) const {
  const std::string name = NameOfHost(host);
  return !name.empty() && (names_.contains(name) || IpAddress::Parse(name).has_value());
}

absl::StatusOr<Token> Token::Of(absl::string_view word) {
  if (word.size() < kShortest || word.size() > kLongest || !std::all_of(word.begin(), word.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      })) {
    return absl::InvalidArgumentError(absl::StrCat("it must hold one word of ", kShortest, " to ", kLongest,
                                                   " printable characters: `openssl rand -hex 32` makes one"));
  }
  return Token(Sha256(std::string(word)));
}

absl::StatusOr<Token> Token::Read(const std::string& setting, const std::string& path) {
  const std::string where = absl::StrCat(setting, " ", Quoted(path), ": ");
  struct stat info = {};
  const absl::StatusOr<UniqueFd> fd = OpenNamedFile(path, info);
  if (!fd.ok()) return absl::Status(fd.status().code(), absl::StrCat(setting, ": ", fd.status().message()));
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(where, "it belongs to another user (uid ", info.st_uid, "): name a file of this user or root"));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(where, "other users may read or write it: set its mode with chmod 600"));
  }
  std::string text(kLongest + 2, '\0');
  const ssize_t size = read(fd->get(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  absl::StatusOr<Token> token = Of(absl::StripAsciiWhitespace(text));
  Wipe(text);
  if (!token.ok()) return absl::InvalidArgumentError(absl::StrCat(where, std::string(token.status().message())));
  return token;
}

bool Token::Matches(absl::string_view authorization) const {
  const size_t space = authorization.find(' ');
  if (space == absl::string_view::npos || !absl::EqualsIgnoreCase(authorization.substr(0, space), "bearer"))
    return false;
  return MatchesWord(absl::StripAsciiWhitespace(authorization.substr(space)));
}

bool Token::MatchesWord(absl::string_view word) const {
  const std::string digest = Sha256(std::string(word));
  return digest.size() == digest_.size() && CRYPTO_memcmp(digest.data(), digest_.data(), digest.size()) == 0;
}

absl::StatusOr<Tokens> Tokens::Of(std::optional<Token> to_act, std::optional<Token> to_look) {
  if (to_act && to_look && to_act->digest_ == to_look->digest_) {
    return absl::InvalidArgumentError(
        "http_view_token_file holds the same token as http_token_file, so its holders could make changes: use another "
        "token for viewing");
  }
  Tokens tokens;
  tokens.to_act_ = std::move(to_act);
  tokens.to_look_ = std::move(to_look);
  return tokens;
}

std::optional<Role> Tokens::Match(absl::string_view authorization) const {
  const bool acts = to_act_ && to_act_->Matches(authorization), looks = to_look_ && to_look_->Matches(authorization);
  return acts ? std::optional(Role::kAct) : looks ? std::optional(Role::kLook) : std::nullopt;
}

std::optional<Role> Tokens::MatchWord(absl::string_view word) const {
  const bool acts = to_act_ && to_act_->MatchesWord(word), looks = to_look_ && to_look_->MatchesWord(word);
  return acts ? std::optional(Role::kAct) : looks ? std::optional(Role::kLook) : std::nullopt;
}

}  // namespace muster::http
