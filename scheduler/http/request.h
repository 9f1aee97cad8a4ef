// Parses a client's HTTP request. Boost.Beast reads the HTTP syntax; this file adds the reading of targets (path and
// query), and the rules by which a request is refused:
//
//   a method other than GET, HEAD and POST                           405
//   GET or HEAD with a body                                          413
//   POST with a chunked body, or with more than kMaxBodyBytes        413
//   a header with more than kMaxHeaderBytes                          431
//   a target that is no plain path with a query (absolute form,
//   "//", "..", control characters, broken escapes)                  400
//   no Host field, or more than one                                  400
//   more than one Authorization, Cookie, Origin, Sec-Fetch-Site or
//   X-Muster-Action field                                            400
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

// Splits a request's target into its path and its query, and decodes both. INVALID_ARGUMENT: the message says what is
// wrong with the target.
absl::StatusOr<Target> ParseTarget(absl::string_view target);

struct Request {
  bool is_head = false;
  bool is_post = false;
  Target target;
  std::string host;  // as the client wrote it, with the port
  std::string authorization;
  std::string accept;
  std::string last_event_id;  // Last-Event-ID: a browser that reopens an event stream wants the events after this one
  std::string if_none_match;
  std::string cookie;
  std::string origin;            // the origin of the page that sends the request, as the browser states it
  std::string fetch_site;        // Sec-Fetch-Site: whether that page's site is ours, as the browser states it
  bool has_action_mark = false;  // has X-Muster-Action: 1; browsers let no page of another site send this field
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
  // Removes the request's bytes from the front of `bytes`. After it has returned kWhole or kBad, call Reset before the
  // next Read.
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
  size_t header_bytes_ = 0;  // bytes of the header that the parser has taken
  bool has_header_ = false;  // request_ is complete, except for its body
  size_t body_bytes_ = 0;    // the size of the whole body, from Content-Length
  Request request_;
  RequestError error_;
};

}  // namespace muster::http
