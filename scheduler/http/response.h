// An answer, shared by all clients that ask for the same.
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
  uint64_t cursor = 0;      // of an event stream: the number of the last event in it; 0: none is
  std::string etag = {};    // of a file of the page, quoted: a browser keeps it, and asks whether it is still current
  std::string cookie = {};  // to be set: the whole value of Set-Cookie
};
using ResponsePtr = std::shared_ptr<const Response>;

inline ResponsePtr MakeResponse(int status, std::string content_type, std::string body) {
  return std::make_shared<const Response>(Response{status, std::move(content_type), std::move(body)});
}

// Returns the status line and the fields, with the empty line after them.
std::string HeaderOf(const Response& response, bool keeps_alive);

}  // namespace muster::http
