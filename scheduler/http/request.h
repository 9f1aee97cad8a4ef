// One request of a client: bytes in, what is asked for out. Boost.Beast reads HTTP; what is around it is here: which
// requests are taken, and what their target says.
//
//   anything but GET, HEAD and POST                                  405
//   a body of GET or HEAD, of whatever kind                          413
//   a body of POST in chunks, or with more than kMaxBodyBytes        413
//   more than kMaxHeaderBytes                                        431
//   a target that is no plain path with a query (absolute form,
//   "//", "..", control characters, broken escapes)                  400
//   no Host in HTTP/1.1, or two of them; two of another field that
//   says who asks, or from where                                     400
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
  std::string last_event_id;  // an event stream that was broken goes on behind it
  std::string if_none_match;
  std::string cookie;
  std::string origin;            // whose page asks, as a browser says it
  std::string fetch_site;        // Sec-Fetch-Site: how far that page's site is from ours
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
  // Takes what belongs to the request from the front of `bytes`. Once it is whole or bad nothing more is taken before
  // Reset.
  State Read(std::string& bytes);
  const Request& request() const { return request_; }
  const RequestError& error() const { return error_; }
  // For the next one on the same connection.
  void Reset();

 private:
  struct Parser;
  State Take();
  State TakeBody(std::string& bytes);
  State Refuse(int status, std::string text);

  std::unique_ptr<Parser> parser_;
  size_t header_bytes_ = 0;  // that the parser has taken
  bool has_header_ = false;  // request_ is whole, but for …
  size_t body_bytes_ = 0;    // … its body
  Request request_;
  RequestError error_;
};

}  // namespace muster::http
