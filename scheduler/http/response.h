// An answer to an HTTP request. Clients that ask for the same share one Response.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace muster::http {

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";
inline constexpr char kJson[] = "application/json";
inline constexpr char kEventStream[] = "text/event-stream";

struct Response {
  int status = 200;
  std::string content_type = kPlainText;
  std::string body;
  uint64_t cursor = 0;      // for an event stream: the number of the last event in `body`; 0: it has no event
  std::string etag = {};    // of a file of the page, in quotes; a browser sends it to ask whether the file has changed
  std::string cookie = {};  // the value of Set-Cookie; empty: no such field
};
using ResponsePtr = std::shared_ptr<const Response>;

inline ResponsePtr MakeResponse(int status, std::string content_type, std::string body) {
  return std::make_shared<const Response>(Response{status, std::move(content_type), std::move(body)});
}

// Returns the response's status line and header fields, and the empty line that ends the header.
std::string HeaderOf(const Response& response, bool keeps_alive);

}  // namespace muster::http
