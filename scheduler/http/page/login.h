// /login and /logout: a token (of --http_token_file, or of --http_view_token_file) for a cookie. Of the server's
// thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/sys/log.h"
#include "scheduler/http/access.h"
#include "scheduler/http/request.h"
#include "scheduler/http/response.h"

namespace muster::http {

// ---- sessions.cc: who has logged in to the page; forgotten with the process.

class Sessions {
 public:
  static constexpr size_t kMost = 64;  // then the oldest ends
  static constexpr absl::Duration kLife = absl::Hours(12);

  // The random word that stands for it. Only its digest is kept.
  std::string Begin(Role role, MonotonicTime now);
  // What who shows it may do; none: it is not known.
  std::optional<Role> Find(absl::string_view word, MonotonicTime now) const;
  void End(absl::string_view word);
  size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    Role role;
    MonotonicTime begun;
  };
  std::map<std::string, Session> sessions_;  // by digest
};

// How many wrong tokens are counted as such: kOfOne at once from one address's party and kOfAll from everybody, then
// one more each kAnother, and kAnotherOfAll. The token is too long to be guessed; this tells a flood from a mistyped
// word.
class LoginLimit {
 public:
  static constexpr int kOfOne = 5;
  static constexpr absl::Duration kAnother = absl::Seconds(12);
  static constexpr int kOfAll = 100;
  static constexpr absl::Duration kAnotherOfAll = absl::Seconds(1);
  static constexpr size_t kMaxParties = 256;  // others count for all only

  bool MayTry(const std::string& party, MonotonicTime now);
  void NoteWrong(const std::string& party, MonotonicTime now);
  size_t parties() const { return parties_.size(); }

 private:
  // Full again at this time.
  std::map<std::string, MonotonicTime> parties_;
  MonotonicTime all_;
};

// The value of the cookie `name` in a Cookie field; empty: it is not there.
std::string CookieIn(absl::string_view field, absl::string_view name);
// Its name: cookies don't know ports, and there may be several schedulers at one host. With TLS browsers take it from
// no other host, and not in plain text (the prefix __Host-).
std::string CookieName(absl::string_view host, bool has_tls);
// What sets it; an empty word ends it.
std::string SetCookie(const std::string& name, const std::string& word, bool has_tls);

// ---- login.cc

inline constexpr char kLoginPath[] = "/login";
inline constexpr char kLogoutPath[] = "/logout";

class Login {
 public:
  // What a client is known by.
  struct Client {
    std::string address;
    std::string party;  // see FairShare
    bool has_tls = false;
  };

  // Of the cookie; none: nobody has logged in with it.
  std::optional<Role> RoleOf(const Request& request, bool has_tls, MonotonicTime now) const;
  // 200 with the cookie; 403: a page of another site asks; 401: the token is wrong; 429: it is wrong, and was too
  // often. `token` null: there is none to log in with. Refusals are counted as "http: other site", "http: wrong token",
  // "http: too many logins".
  ResponsePtr Begin(const Request& request, const Client& client, const Tokens& tokens, MonotonicTime now,
                    CountedLog& counted);
  ResponsePtr End(const Request& request, const Client& client, CountedLog& counted);

 private:
  Sessions sessions_;
  LoginLimit limit_;
};

}  // namespace muster::http
