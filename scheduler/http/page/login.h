// /login and /logout: exchange a token (of --http_token_file or --http_view_token_file) for a cookie. Owned by the
// server's thread.
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

// ---- sessions.cc: the logged-in sessions of the page; the process forgets them when it ends.

class Sessions {
 public:
  static constexpr size_t kMost = 64;  // then the oldest ends
  static constexpr absl::Duration kLife = absl::Hours(12);

  // Returns the session's random word. Keeps only its digest.
  std::string Begin(Role role, MonotonicTime now);
  // Returns the rights that the word gives; none: it is unknown.
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

// Limits how many wrong tokens are counted as such. Buckets hold kOfOne for one client's addresses and kOfAll for all
// clients, and refill by one each kAnother and kAnotherOfAll. The token is too long to guess; this distinguishes a
// flood from a mistyped word.
class LoginLimit {
 public:
  static constexpr int kOfOne = 5;
  static constexpr absl::Duration kAnother = absl::Seconds(12);
  static constexpr int kOfAll = 100;
  static constexpr absl::Duration kAnotherOfAll = absl::Seconds(1);
  static constexpr size_t kMaxClients = 256;  // others count only in the total

  bool MayTry(const std::string& client_key, MonotonicTime now);
  void NoteWrong(const std::string& client_key, MonotonicTime now);
  size_t clients() const { return clients_.size(); }

 private:
  // The time at which the client's bucket is full again.
  std::map<std::string, MonotonicTime> clients_;
  MonotonicTime all_;
};

// Returns the value of the cookie `name` in a Cookie field; empty: it is not there.
std::string CookieIn(absl::string_view field, absl::string_view name);
// Returns the cookie's name. Cookies ignore ports, and several schedulers may run on one host, so it contains the port.
// With TLS the prefix __Host- makes browsers refuse it from any other host and in plain text.
std::string CookieName(absl::string_view host, bool has_tls);
// Returns the value of Set-Cookie; an empty word ends the session.
std::string SetCookie(const std::string& name, const std::string& word, bool has_tls);

// ---- login.cc

inline constexpr char kLoginPath[] = "/login";
inline constexpr char kLogoutPath[] = "/logout";

class Login {
 public:
  // The identification of a client.
  struct Client {
    std::string address;
    std::string client_key;  // see FairShare
    bool has_tls = false;
  };

  // Returns the rights of the request's cookie; none: it is not a session's.
  std::optional<Role> RoleOf(const Request& request, bool has_tls, MonotonicTime now) const;
  // Returns 200 with the cookie; 403: a page of another site asks; 401: the token is wrong; 429: it is wrong, too
  // often. `token` null: no token is configured. Counts refusals as "http: other site", "http: wrong token", "http: too
  // many logins".
  ResponsePtr Begin(const Request& request, const Client& client, const Tokens& tokens, MonotonicTime now,
                    CountedLog& counted);
  ResponsePtr End(const Request& request, const Client& client, CountedLog& counted);

 private:
  Sessions sessions_;
  LoginLimit limit_;
};

}  // namespace muster::http
