// Parses one HTTP request of Horovod's rendezvous client. Pure.
//
//   GET|PUT|DELETE /scope/key                            taken
//   another method                                       405
//   a target of fewer or more than two parts             400
//   a part that is longer than kMaxNameBytes, or empty,
//   or has anything but visible ASCII                    400
//   a malformed header, or two lengths                   400
//   no length with a PUT                                 411
//   a body with a GET or DELETE, or one of more than
//   kMaxBodyBytes                                        413
//   Expect                                               417
//   a header of more than kMaxHeaderBytes                431
//   Transfer-Encoding                                    501
//   neither HTTP/1.0 nor HTTP/1.1                        505
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::horovod {

inline constexpr size_t kMaxHeaderBytes = 8 * 1024;
inline constexpr size_t kMaxNameBytes = 256;
inline constexpr size_t kMaxBodyBytes =
    1024 * 1024;  // a rank's addresses, which are some 100 bytes for each other rank

struct Request {
  enum class Method { kGet, kPut, kDelete };
  Method method = Method::kGet;
  std::string scope;
  std::string key;
  std::string body;
};

// Reads the only request of a connection.
class RequestReader {
 public:
  enum class State { kNeedsMore, kWhole, kBad };
  // Ignores all bytes once the request is whole or bad.
  State Read(std::string_view bytes);
  const Request& request() const { return request_; }
  // The answer's status, for a bad request.
  int status() const { return status_; }
  size_t buffered() const { return header_.size() + request_.body.size(); }

 private:
  State TakeHeader();
  State TakeStartLine(std::string_view line);
  State TakeField(std::string_view line);
  State Refuse(int status);

  std::string header_;
  size_t body_bytes_ = 0;
  std::optional<size_t> length_;
  bool has_header_ = false;
  Request request_;
  State state_ = State::kNeedsMore;
  int status_ = 0;
};

}  // namespace muster::horovod
