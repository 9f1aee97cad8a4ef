// The paths /login and /logout. A login exchanges a token (from --http_token_file or --http_view_token_file) for a
// cookie. Owned by the server's thread.
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

// ---- sessions.cc: the sessions of logged-in users of the page. They end when the process ends.

class Sessions {
 public:
  static constexpr size_t kMost = 64;  // sessions; a further one ends the oldest
  static constexpr absl::Duration kLife = absl::Hours(12);

  // Begins a session and returns its random word, for the cookie. Keeps only the word's digest.
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

// Distinguishes a mistyped token from a flood of wrong ones, with token buckets. One client may send kOfOne wrong
// tokens at once, and one more each kAnother. All clients together may send kOfAll, and one more each kAnotherOfAll.
// (This is no protection against guessing: the tokens are too long to guess.)
class LoginLimit {
 public:
  static constexpr int kOfOne = 5;
  static constexpr absl::Duration kAnother = absl::Seconds(12);
  static constexpr int kOfAll = 100;
  static constexpr absl::Duration kAnotherOfAll = absl::Seconds(1);
  static constexpr size_t kMaxClients = 256;  // clients with buckets of their own; others count only in the total

  // True if the client's next wrong token still counts as a mistyped one.
  bool MayTry(const std::string& client_key, MonotonicTime now);
  void NoteWrong(const std::string& client_key, MonotonicTime now);
  size_t clients() const { return clients_.size(); }

 private:
  // The times when the buckets will be full again: clients_ has those of single clients, all_ that of all clients
  // together.
  std::map<std::string, MonotonicTime> clients_;
  MonotonicTime all_;
};

// Returns the value of the cookie `name` in a Cookie field; empty: the field has no such cookie.
std::string CookieIn(absl::string_view field, absl::string_view name);
// Returns the name of the session's cookie. It contains the port: browsers send a cookie to all ports of a host, and
// several schedulers may run on one host. With TLS it has the prefix __Host-, so that browsers accept the cookie only
// from this host and only over TLS.
std::string CookieName(absl::string_view host, bool has_tls);
// Returns the value of Set-Cookie. With an empty word it makes the browser delete the cookie.
std::string SetCookie(const std::string& name, const std::string& word, bool has_tls);

// ---- login.cc

inline constexpr char kLoginPath[] = "/login";
inline constexpr char kLogoutPath[] = "/logout";

class Login {
 public:
  // The client that sends a request.
  struct Client {
    std::string address;
    std::string client_key;  // see FairShare
    bool has_tls = false;
  };

  // Returns the rights that the request's cookie gives; none: it belongs to no session.
  std::optional<Role> RoleOf(const Request& request, bool has_tls, MonotonicTime now) const;
  // Answers /login: 200 with the cookie, 403 if a page of another site asks, 404 if no token is configured, 401 if the
  // token is wrong, 429 if it is wrong and came after too many wrong ones. Counts refusals as "http: other site",
  // "http: wrong token" and "http: too many logins".
  ResponsePtr Begin(const Request& request, const Client& client, const Tokens& tokens, MonotonicTime now,
                    CountedLog& counted);
  // Answers /logout: ends the session and deletes the cookie; 403 if a page of another site asks.
  ResponsePtr End(const Request& request, const Client& client, CountedLog& counted);

 private:
  Sessions sessions_;
  LoginLimit limit_;
};

}  // namespace muster::http
