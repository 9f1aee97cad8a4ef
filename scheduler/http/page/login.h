// /login and /logout: a token (of --http_token_file, or of --http_view_token_file) for a cookie. Of the server's
// thread.
#pragma once

#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/sys/log.h"
#include "scheduler/http/access.h"
#include "scheduler/http/page/sessions.h"
#include "scheduler/http/request.h"
#include "scheduler/http/response.h"

namespace muster::http {

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
