#include "scheduler/http/response.h"

#include "absl/strings/str_cat.h"

namespace muster::http {
namespace {

constexpr char kPolicyOfData[] = "default-src 'none'; frame-ancestors 'none'";
// Forbids inline scripts and styles, and anything from or to another site.
constexpr char kPolicyOfPage[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Other";
  }
}

}  // namespace

std::string HeaderOf(const Response& response, bool keeps_alive) {
  std::string out = absl::StrCat("HTTP/1.1 ", response.status, " ", ReasonOf(response.status), "\r\n",
                                 "Content-Type: ", response.content_type, "\r\n");
  if (response.content_type != kEventStream && response.status != 304) {
    absl::StrAppend(&out, "Content-Length: ", response.body.size(), "\r\n");
  }
  if (response.status == 401) absl::StrAppend(&out, "WWW-Authenticate: Bearer realm=\"muster\"\r\n");
  if (response.status == 405) absl::StrAppend(&out, "Allow: GET, HEAD\r\n");
  if (response.status == 429 || response.status == 503) absl::StrAppend(&out, "Retry-After: 1\r\n");
  if (!response.cookie.empty()) absl::StrAppend(&out, "Set-Cookie: ", response.cookie, "\r\n");
  if (response.etag.empty()) {
    absl::StrAppend(&out, "Cache-Control: no-store\r\nContent-Security-Policy: ", kPolicyOfData, "\r\n");
  } else {
    absl::StrAppend(&out, "Cache-Control: no-cache\r\nETag: ", response.etag,
                    "\r\nContent-Security-Policy: ", kPolicyOfPage, "\r\nX-Frame-Options: DENY\r\n");
  }
  absl::StrAppend(&out,
                  "Cross-Origin-Resource-Policy: same-origin\r\n"
                  "Referrer-Policy: no-referrer\r\n"
                  "X-Content-Type-Options: nosniff\r\n",
                  keeps_alive ? "" : "Connection: close\r\n", "\r\n");
  return out;
}

}  // namespace muster::http
