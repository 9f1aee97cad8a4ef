#include <sys/random.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "common/base/sha256.h"
#include "scheduler/http/page/login.h"

namespace muster::http {
namespace {

// True if a bucket for `most` tries has at least one left. It gains one try in each `each`, and has all of them again
// at `full`.
bool HasRoom(MonotonicTime full, MonotonicTime now, absl::Duration each, int most) {
  return full - now <= each * (most - 1);
}

}  // namespace

std::string Sessions::Begin(Role role, MonotonicTime now) {
  std::erase_if(sessions_, [now](const auto& one) { return now - one.second.begun >= kLife; });
  if (sessions_.size() >= kMost) {
    sessions_.erase(std::min_element(sessions_.begin(), sessions_.end(),
                                     [](const auto& a, const auto& b) { return a.second.begun < b.second.begun; }));
  }
  std::string bytes(32, '\0');
  MUSTER_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
               "random numbers can be had");
  const std::string word = absl::BytesToHexString(bytes);
  sessions_[Sha256(word)] = {role, now};
  return word;
}

std::optional<Role> Sessions::Find(absl::string_view word, MonotonicTime now) const {
  if (word.empty()) return std::nullopt;
  const auto found = sessions_.find(Sha256(std::string(word)));
  if (found == sessions_.end() || now - found->second.begun >= kLife) return std::nullopt;
  return found->second.role;
}

void Sessions::End(absl::string_view word) { sessions_.erase(Sha256(std::string(word))); }

bool LoginLimit::MayTry(const std::string& client_key, MonotonicTime now) {
  if (!HasRoom(std::max(all_, now), now, kAnotherOfAll, kOfAll)) return false;
  const auto found = clients_.find(client_key);
  return found == clients_.end() || HasRoom(std::max(found->second, now), now, kAnother, kOfOne);
}

void LoginLimit::NoteWrong(const std::string& client_key, MonotonicTime now) {
  all_ = std::max(all_, now) + kAnotherOfAll;
  std::erase_if(clients_, [now](const auto& one) { return one.second <= now; });
  if (!clients_.contains(client_key) && clients_.size() >= kMaxClients) return;
  MonotonicTime& full = clients_[client_key];
  full = std::max(full, now) + kAnother;
}

std::string CookieIn(absl::string_view field, absl::string_view name) {
  for (const absl::string_view one : absl::StrSplit(field, ';')) {
    absl::string_view rest = absl::StripAsciiWhitespace(one);
    if (absl::ConsumePrefix(&rest, name) && absl::ConsumePrefix(&rest, "=")) return std::string(rest);
  }
  return "";
}

std::string CookieName(absl::string_view host, bool has_tls) {
  const size_t colon = host.rfind(':');
  absl::string_view port = colon == absl::string_view::npos ? "" : host.substr(colon + 1);
  if (!std::all_of(port.begin(), port.end(), absl::ascii_isdigit)) port = "";  // an IPv6 address without a port: [::1]
  return absl::StrCat(has_tls ? "__Host-" : "", "muster", port.empty() ? "" : "-", port);
}

std::string SetCookie(const std::string& name, const std::string& word, bool has_tls) {
  return absl::StrCat(name, "=", word, "; Path=/; HttpOnly; SameSite=Strict; Max-Age=",
                      word.empty() ? 0 : absl::ToInt64Seconds(Sessions::kLife), has_tls ? "; Secure" : "");
}

}  // namespace muster::http
