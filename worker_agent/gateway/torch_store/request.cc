#include "worker_agent/gateway/torch_store/request.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/torch_store/limits.h"

namespace muster::torch_store {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x3C85F7CE;
constexpr size_t kKeptCapacity = 64 * 1024;

// The fields of each Query, by its number, in the letters of request.h.
constexpr std::array<std::string_view, 19> kFields = {"u",  "KV",  "KVV", "K", "KI", "nK", "nK", "", "K", "KV",
                                                      "nK", "nKV", "",    "u", "KV", "K",  "K",  "", "KI"};

// The queries of PyTorch 1.13, by their numbers. WATCH_KEY (7) is not supported: no public script is known that
// registers a callback.
constexpr uint8_t kWatchKey = 7;
constexpr std::array<Query, 13> kQueriesOf1 = {
    Query::kSet,      Query::kCompareSet, Query::kGet,       Query::kAdd,       Query::kCheck,
    Query::kWait,     Query::kGetNumKeys, Query::kPing,      Query::kDeleteKey, Query::kAppend,
    Query::kMultiGet, Query::kMultiSet,   Query::kCancelWait};

absl::Status TooLarge(const std::string& what, uint64_t given, uint64_t most) {
  return absl::ResourceExhaustedError(absl::StrCat(what, " is ", given, " in a request; a store takes at most ", most));
}

}  // namespace

void RequestDecoder::Append(std::string_view bytes) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
    if (buffer_.capacity() > kKeptCapacity) buffer_.shrink_to_fit();
  } else if (at_ > kKeptCapacity) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_.append(bytes);
}

template <typename Number>
std::optional<Number> RequestDecoder::Take() {
  if (buffer_.size() - at_ < sizeof(Number)) return std::nullopt;
  Number number;
  std::memcpy(&number, buffer_.data() + at_, sizeof(number));
  at_ += sizeof(number);
  return number;
}

// Returns false if more bytes are needed.
bool RequestDecoder::DetectDialect() {
  const std::string_view first = rest();
  if (first.empty()) return false;
  if (first[0] != static_cast<char>(Query::kValidate)) {
    dialect_ = Dialect::k1;
    return true;
  }
  uint32_t magic = 0;
  if (first.size() < 1 + sizeof(magic)) return false;
  std::memcpy(&magic, first.data() + 1, sizeof(magic));
  dialect_ = magic == kMagic ? Dialect::k2 : Dialect::k1;
  if (dialect_ == Dialect::k2) at_ += 1 + sizeof(magic);  // VALIDATE has no answer
  return true;
}

absl::StatusOr<bool> RequestDecoder::BeginRequest() {
  const std::optional<uint8_t> number = Take<uint8_t>();
  if (!number) return false;
  const bool is_known = dialect_ == Dialect::k2 ? *number != 0 && *number < kFields.size()
                                                : *number < kQueriesOf1.size() && *number != kWatchKey;
  if (!is_known) {
    const bool is_watch = dialect_ == Dialect::k1 && *number == kWatchKey;
    return absl::InvalidArgumentError(
        absl::StrCat("query ", *number, " of PyTorch ", dialect_ == Dialect::k2 ? "2" : "1.13",
                     is_watch ? " (WATCH_KEY) is not served here; start with --torch_store=rank0" : " is unknown"));
  }
  request_ = {};
  request_.query = dialect_ == Dialect::k2 ? static_cast<Query>(*number) : kQueriesOf1[*number];
  fields_ = kFields[static_cast<size_t>(request_.query)];
  field_ = 0;
  repeats_ = 0;
  is_begun_ = true;
  return true;
}

absl::StatusOr<bool> RequestDecoder::TakeText(bool is_key) {
  if (!text_) {
    text_ = Take<uint64_t>();
    if (!text_) return false;
    const uint64_t most = is_key ? kMaxKeyBytes : kMaxValueBytes;
    if (*text_ > most)
      return TooLarge(is_key ? "the length of a key in bytes" : "the length of a value in bytes", *text_, most);
  }
  const std::string_view bytes = rest();
  if (bytes.size() < *text_) {
    if (*text_ > kKeptCapacity) buffer_.reserve(at_ + *text_);
    return false;
  }
  (is_key ? request_.keys : request_.values).emplace_back(bytes.substr(0, *text_));
  request_bytes_ += *text_ + sizeof(std::string);
  at_ += *text_;
  text_.reset();
  return true;
}

absl::StatusOr<bool> RequestDecoder::TakeField(char kind) {
  switch (kind) {
    case 'K':
    case 'V':
      return TakeText(kind == 'K');
    case 'n': {
      const std::optional<uint64_t> count = Take<uint64_t>();
      if (!count) return false;
      if (*count > kMaxKeysOfRequest) return TooLarge("the number of keys", *count, kMaxKeysOfRequest);
      repeats_ = *count;
      if (repeats_ == 0) field_ = fields_.size();
      return true;
    }
    case 'I': {
      const std::optional<int64_t> number = Take<int64_t>();
      if (number) request_.number = *number;
      return number.has_value();
    }
    default: {
      const std::optional<uint32_t> nonce = Take<uint32_t>();
      if (nonce) request_.nonce = *nonce;
      return nonce.has_value();
    }
  }
}

absl::StatusOr<std::optional<Request>> RequestDecoder::Next() {
  if (dialect_ == Dialect::kUnknown && !DetectDialect()) return std::nullopt;
  if (!is_begun_) {
    const absl::StatusOr<bool> is_begun = BeginRequest();
    if (!is_begun.ok()) return is_begun.status();
    if (!*is_begun) return std::nullopt;
  }
  while (field_ < fields_.size()) {
    const absl::StatusOr<bool> is_whole = TakeField(fields_[field_]);
    if (!is_whole.ok()) return is_whole.status();
    if (!*is_whole) return std::nullopt;
    ++field_;
    if (field_ >= fields_.size() && repeats_ > 1) {
      --repeats_;
      field_ = 1;  // the field after `n`
    }
  }
  is_begun_ = false;
  request_bytes_ = 0;
  if (at_ == buffer_.size() && buffer_.capacity() > kKeptCapacity) {  // the client may be silent for hours
    std::string().swap(buffer_);
    at_ = 0;
  }
  return std::move(request_);
}

}  // namespace muster::torch_store
