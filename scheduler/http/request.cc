#include "scheduler/http/request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace muster::http {
namespace {

namespace beast = boost::beast::http;

std::string Text(boost::beast::string_view text) { return {text.data(), text.size()}; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes %XX, and replaces + by a space if `plus_is_space`. None: the text has a broken escape or a control character.
std::optional<std::string> Decode(absl::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) return std::nullopt;
    out.push_back(c);
  }
  return out;
}

absl::Status CheckPath(const std::string& path) {
  for (const absl::string_view part : absl::StrSplit(absl::string_view(path).substr(1), '/')) {
    if (part == "." || part == "..") return absl::InvalidArgumentError("the path has a part that is . or ..");
  }
  if (absl::StrContains(path, "//") || absl::StrContains(path, '\\')) {
    return absl::InvalidArgumentError("the path has double slashes or backslashes");
  }
  return absl::OkStatus();
}

absl::Status ParseQuery(absl::string_view query, std::map<std::string, std::string>& out) {
  if (query.empty()) return absl::OkStatus();
  for (const absl::string_view part : absl::StrSplit(query, '&')) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    std::optional<std::string> name = Decode(pair.first, true), value = Decode(pair.second, true);
    if (!name || !value || name->empty()) return absl::InvalidArgumentError("the query is not NAME=VALUE&…");
    if (out.size() >= kMaxParameters) {
      return absl::InvalidArgumentError(absl::StrCat("the query has more than ", kMaxParameters, " parameters"));
    }
    if (!out.emplace(*std::move(name), *std::move(value)).second) {
      return absl::InvalidArgumentError("the query names a parameter twice");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Target> ParseTarget(absl::string_view target) {
  if (target.size() > kMaxTargetBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the target has more than ", kMaxTargetBytes, " bytes"));
  }
  if (target.empty() || target.front() != '/') return absl::InvalidArgumentError("the target is not a path");
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(target, absl::MaxSplits('?', 1));
  std::optional<std::string> path = Decode(parts.first, false);
  if (!path) return absl::InvalidArgumentError("the path has broken escapes or control characters");
  Target out;
  out.path = *std::move(path);
  if (absl::Status status = CheckPath(out.path); !status.ok()) return status;
  if (absl::Status status = ParseQuery(parts.second, out.query); !status.ok()) return status;
  return out;
}

struct RequestReader::Parser {
  Parser() {
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // Take checks the size, with a message of our own
  }
  beast::request_parser<beast::empty_body> parser;
};

RequestReader::RequestReader() : parser_(std::make_unique<Parser>()) {}
RequestReader::~RequestReader() = default;

void RequestReader::Reset() {
  parser_ = std::make_unique<Parser>();
  request_ = {};
  error_ = {};
  header_bytes_ = body_bytes_ = 0;
  has_header_ = false;
}

RequestReader::State RequestReader::Refuse(int status, std::string text) {
  error_ = {status, std::move(text)};
  return State::kBad;
}

RequestReader::State RequestReader::Read(std::string& bytes) {
  if (error_.status != 0) return State::kBad;
  auto& parser = parser_->parser;
  // (Beast takes the start line, and each field, only when it is whole. The next call continues after the last field
  // that was taken.)
  while (!parser.is_header_done() && !bytes.empty()) {
    boost::beast::error_code error;
    const size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.erase(0, taken);
    // (Count the bytes here: Beast's own limit applies to one field at a time.)
    header_bytes_ += taken;
    const size_t whole = header_bytes_ + (parser.is_header_done() ? 0 : bytes.size());
    if (whole > kMaxHeaderBytes || error == beast::error::header_limit || error == beast::error::buffer_overflow) {
      return Refuse(431, absl::StrCat("the header has more than ", kMaxHeaderBytes, " bytes"));
    }
    if (error == beast::error::need_more || (!error && taken == 0)) break;
    if (error) return Refuse(400, absl::StrCat("this is not an HTTP/1.1 request: ", error.message()));
  }
  if (!parser.is_header_done()) return State::kNeedsMore;
  if (!has_header_ && Take() == State::kBad) return State::kBad;
  has_header_ = true;
  return TakeBody(bytes);
}

RequestReader::State RequestReader::Take() {
  const auto& message = parser_->parser.get();
  const bool is_post = message.method() == beast::verb::post;
  if (!is_post && message.method() != beast::verb::get && message.method() != beast::verb::head)
    return Refuse(405, "only GET, HEAD and, for actions, POST are served here");
  const std::string length = Text(message[beast::field::content_length]);
  const bool has_body = message.count(beast::field::transfer_encoding) != 0 ||
                        (message.count(beast::field::content_length) != 0 && length != "0");
  if (has_body && !is_post) return Refuse(413, "only a POST request may have a body");
  uint64_t bytes = 0;
  if (has_body && (!absl::SimpleAtoi(length, &bytes) || bytes > kMaxBodyBytes)) {
    return Refuse(413, absl::StrCat("a body must have a Content-Length of at most ", kMaxBodyBytes, " bytes"));
  }
  body_bytes_ = static_cast<size_t>(bytes);
  if (message.count(beast::field::host) != 1) return Refuse(400, "a request must have exactly one Host header");
  for (const char* one : {"Authorization", "Cookie", "Origin", "Sec-Fetch-Site", "X-Muster-Action"}) {
    if (message.count(one) > 1) return Refuse(400, absl::StrCat("a request may have only one ", one, " header"));
  }
  absl::StatusOr<Target> target = ParseTarget({message.target().data(), message.target().size()});
  if (!target.ok()) return Refuse(400, std::string(target.status().message()));
  request_.target = *std::move(target);
  request_.is_head = message.method() == beast::verb::head;
  request_.is_post = is_post;
  request_.host = Text(message[beast::field::host]);
  request_.authorization = Text(message[beast::field::authorization]);
  request_.accept = Text(message[beast::field::accept]);
  request_.last_event_id = Text(message["Last-Event-ID"]);
  request_.if_none_match = Text(message[beast::field::if_none_match]);
  request_.cookie = Text(message[beast::field::cookie]);
  request_.origin = Text(message[beast::field::origin]);
  request_.fetch_site = Text(message["Sec-Fetch-Site"]);
  request_.has_action_mark = Text(message["X-Muster-Action"]) == "1";
  request_.keeps_alive = message.keep_alive();
  return State::kWhole;
}

RequestReader::State RequestReader::TakeBody(std::string& bytes) {
  const size_t taken = std::min(bytes.size(), body_bytes_ - request_.body.size());
  request_.body.append(bytes, 0, taken);
  bytes.erase(0, taken);
  return request_.body.size() < body_bytes_ ? State::kNeedsMore : State::kWhole;
}

}  // namespace muster::http
