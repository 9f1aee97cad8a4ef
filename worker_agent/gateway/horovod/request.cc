#include "worker_agent/gateway/horovod/request.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace muster::horovod {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

bool IsFieldName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

bool IsFieldValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](unsigned char c) { return c == '\t' || !absl::ascii_iscntrl(c); });
}

// Parses digits only.
std::optional<size_t> LengthOf(const std::string& text) {
  size_t length = 0;
  const bool is_number =
      !text.empty() && text.size() < 10 && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  return is_number && absl::SimpleAtoi(text, &length) ? std::optional<size_t>(length) : std::nullopt;
}

}  // namespace

RequestReader::State RequestReader::Refuse(int status) {
  status_ = status;
  return state_ = State::kBad;
}

RequestReader::State RequestReader::Read(std::string_view bytes) {
  if (state_ != State::kNeedsMore) return state_;
  if (!has_header_) {
    const size_t looked_at = header_.size() - std::min(header_.size(), kEnd.size() - 1);
    const size_t before = header_.size();
    header_ += bytes.substr(0, kMaxHeaderBytes + 1 - before);
    const size_t end = header_.find(kEnd, looked_at);
    if (end == std::string::npos && header_.size() <= kMaxHeaderBytes) return state_;
    if (end == std::string::npos || end + kEnd.size() > kMaxHeaderBytes) return Refuse(431);
    bytes.remove_prefix(end + kEnd.size() - before);
    header_.resize(end);
    has_header_ = true;
    if (TakeHeader() != State::kNeedsMore) return state_;
  }
  request_.body += bytes.substr(0, body_bytes_ - request_.body.size());
  if (request_.body.size() == body_bytes_) state_ = State::kWhole;
  return state_;
}

RequestReader::State RequestReader::TakeHeader() {
  const std::vector<std::string> lines = absl::StrSplit(header_, "\r\n");
  if (TakeStartLine(lines[0]) != State::kNeedsMore) return state_;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (TakeField(lines[i]) != State::kNeedsMore) return state_;
  }
  if (request_.method == Request::Method::kPut) {
    if (!length_) return Refuse(411);
    if (*length_ > kMaxBodyBytes) return Refuse(413);
  } else if (length_.value_or(0) != 0) {
    return Refuse(413);
  }
  body_bytes_ = length_.value_or(0);
  return state_;
}

RequestReader::State RequestReader::TakeStartLine(std::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(std::string(line), ' ');
  if (words.size() != 3) return Refuse(400);
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") return Refuse(absl::StartsWith(words[2], "HTTP/") ? 505 : 400);
  if (words[0] == "GET") {
    request_.method = Request::Method::kGet;
  } else if (words[0] == "PUT") {
    request_.method = Request::Method::kPut;
  } else if (words[0] == "DELETE") {
    request_.method = Request::Method::kDelete;
  } else {
    return Refuse(405);
  }
  const std::vector<std::string> parts = absl::StrSplit(words[1], '/');
  if (parts.size() != 3 || !parts[0].empty() || !IsName(parts[1]) || !IsName(parts[2])) return Refuse(400);
  request_.scope = parts[1];
  request_.key = parts[2];
  return state_;
}

RequestReader::State RequestReader::TakeField(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsFieldName(line.substr(0, colon)) || !IsFieldValue(line.substr(colon + 1))) {
    return Refuse(400);
  }
  const std::string name = absl::AsciiStrToLower(std::string(line.substr(0, colon)));
  if (name == "transfer-encoding") return Refuse(501);
  if (name == "expect") return Refuse(417);
  if (name != "content-length") return state_;
  const std::optional<size_t> length =
      LengthOf(std::string(absl::StripAsciiWhitespace(std::string(line.substr(colon + 1)))));
  if (!length || length_) return Refuse(400);
  length_ = length;
  return state_;
}

}  // namespace muster::horovod
