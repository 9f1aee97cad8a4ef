#include "scheduler/http/page/login.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "scheduler/http/api.h"
#include "scheduler/http/page/actions.h"

namespace muster::http {
namespace {

ResponsePtr Refuse(absl::Status status, const char* kind, const Login::Client& client, CountedLog& counted) {
  counted.Note(Severity::kWarning, kind,
               absl::StrCat("refused a login from ", client.address, ": ", std::string(status.message())));
  return ApiError(status);
}

ResponsePtr WithCookie(const std::string& cookie) {
  Response response{200, kJson, "{}\n"};
  response.cookie = cookie;
  return std::make_shared<const Response>(std::move(response));
}

}  // namespace

std::optional<Role> Login::RoleOf(const Request& request, bool has_tls, MonotonicTime now) const {
  return sessions_.Find(CookieIn(request.cookie, CookieName(request.host, has_tls)), now);
}

ResponsePtr Login::Begin(const Request& request, const Client& client, const Tokens& tokens, MonotonicTime now,
                         CountedLog& counted) {
  if (absl::Status own = CheckOwnPage(request, /*by_cookie=*/false); !own.ok()) {
    return Refuse(std::move(own), "http: other site", client, counted);
  }
  if (!tokens.any()) {
    return ApiError(
        absl::NotFoundError("there is no token to log in with: set --http_token_file or --http_view_token_file"));
  }
  const std::optional<Role> role = tokens.MatchWord(TokenIn(request.body));
  // The right token is accepted no matter how many wrong ones came before it. So an attacker can't lock users out by
  // sending wrong tokens.
  if (!role) {
    if (limit_.MayTry(client.client_key, now)) {
      limit_.NoteWrong(client.client_key, now);
      return Refuse(absl::UnauthenticatedError("the token is wrong"), "http: wrong token", client, counted);
    }
    Response refused = *Refuse(absl::UnauthenticatedError("the token is wrong, and too many wrong ones came before it"),
                               "http: too many logins", client, counted);
    refused.status = 429;
    return std::make_shared<const Response>(std::move(refused));
  }
  Log(Severity::kInfo,
      absl::StrCat("a user logged in to the page from ", client.address, *role == Role::kLook ? ", read-only" : ""));
  return WithCookie(SetCookie(CookieName(request.host, client.has_tls), sessions_.Begin(*role, now), client.has_tls));
}

ResponsePtr Login::End(const Request& request, const Client& client, CountedLog& counted) {
  if (absl::Status own = CheckOwnPage(request, /*by_cookie=*/true); !own.ok()) {
    return Refuse(std::move(own), "http: other site", client, counted);
  }
  const std::string name = CookieName(request.host, client.has_tls);
  sessions_.End(CookieIn(request.cookie, name));
  return WithCookie(SetCookie(name, "", client.has_tls));
}

}  // namespace muster::http
