// One request of a client: bytes in, a parsed request out. Boost.Beast parses HTTP. This adds the rules for accepted
// requests, and the reading of their targets.
//
//   anything but GET, HEAD and POST                                  405
//   a body of GET or HEAD, of any kind                               413
//   a body of POST in chunks, or with more than kMaxBodyBytes        413
//   more than kMaxHeaderBytes                                        431
//   a target that is no plain path with a query (absolute form,
//   "//", "..", control characters, broken escapes)                  400
//   no Host in HTTP/1.1, or two of them; two of another field that
//   identifies the client or its origin                              400
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::http {

inline constexpr size_t kMaxHeaderBytes = 16 * 1024;
inline constexpr size_t kMaxTargetBytes = 2 * 1024;
inline constexpr size_t kMaxBodyBytes = 4 * 1024;
inline constexpr size_t kMaxParameters = 16;

struct Target {
  std::string path;  // decoded; begins with a slash
  std::map<std::string, std::string> query;
};

// INVALID_ARGUMENT says what is wrong.
absl::StatusOr<Target> ParseTarget(absl::string_view target);

struct Request {
  bool is_head = false;
  bool is_post = false;
  Target target;
  std::string host;  // as the client wrote it, with the port
  std::string authorization;
  std::string accept;
  std::string last_event_id;  // a reopened event stream continues after it
  std::string if_none_match;
  std::string cookie;
  std::string origin;            // the origin of the page that asks, from the browser
  std::string fetch_site;        // Sec-Fetch-Site: how that page's site relates to ours
  bool has_action_mark = false;  // X-Muster-Action: 1, which no page of another site can send unasked
  std::string body;
  bool keeps_alive = false;
};

struct RequestError {
  int status = 0;  // 0: none
  std::string text;
};

class RequestReader {
 public:
  RequestReader();
  ~RequestReader();

  enum class State { kNeedsMore, kWhole, kBad };
  // Takes the request's bytes from the front of `bytes`. Once the request is whole or bad, takes nothing more before
  // Reset.
  State Read(std::string& bytes);
  const Request& request() const { return request_; }
  const RequestError& error() const { return error_; }
  // Prepares for the next request on the same connection.
  void Reset();

 private:
  struct Parser;
  State Take();
  State TakeBody(std::string& bytes);
  State Refuse(int status, std::string text);

  std::unique_ptr<Parser> parser_;
  size_t header_bytes_ = 0;  // that the parser has taken
  bool has_header_ = false;  // request_ is complete, except for …
  size_t body_bytes_ = 0;    // … its body
  Request request_;
  RequestError error_;
};

}  // namespace muster::http
