// Decodes requests of PyTorch's TCPStore. Pure.
//
// The protocol has no frames: a request is a query byte and its fields. Numbers are in the sender's byte order, assumed
// to be little-endian. Source: torch/csrc/distributed/c10d/TCPStoreBackend.hpp of PyTorch 2.13 and 1.13.
//
//   K  key: u64 length, bytes        V  value: u64 length, bytes        I  i64
//   n  u64 count; the fields after it are repeated                      u  u32
//
// A connection of PyTorch 2 begins with VALIDATE (0) and its magic number. A connection of 1.13 begins with any of its
// queries, which are numbered from 0. So a first byte 0 without the magic number after it is SET of 1.13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::torch_store {

// The queries, with PyTorch 2's numbers.
enum class Query : uint8_t {
  kValidate = 0,
  kSet,
  kCompareSet,
  kGet,
  kAdd,
  kCheck,
  kWait,
  kGetNumKeys,
  kDeleteKey,
  kAppend,
  kMultiGet,
  kMultiSet,
  kCancelWait,
  kPing,
  kQueuePush,
  kQueuePop,
  kQueueLen,
  kListKeys,
  kBarrier,
};

enum class Dialect { kUnknown, k1, k2 };

struct Request {
  Query query = Query::kPing;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  int64_t number = 0;  // of ADD and BARRIER
  uint32_t nonce = 0;  // of PING
};

// Decodes bytes as they come, and decodes no byte twice. Keeps the bytes of a field until the field is complete.
class RequestDecoder {
 public:
  void Append(std::string_view bytes);
  // Returns nothing if more bytes are needed. Returns an error if the peer is no client of a store, or exceeds a limit
  // of limits.h; after that no request can be read any more.
  absl::StatusOr<std::optional<Request>> Next();

  Dialect dialect() const { return dialect_; }
  // Returns the memory of incomplete requests.
  size_t buffered() const { return buffer_.size() - at_ + request_bytes_; }

 private:
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }
  template <typename Number>
  std::optional<Number> Take();
  bool DetectDialect();
  absl::StatusOr<bool> BeginRequest();
  // Returns false if more bytes are needed.
  absl::StatusOr<bool> TakeField(char kind);
  absl::StatusOr<bool> TakeText(bool is_key);

  std::string buffer_;
  size_t at_ = 0;  // the bytes before it are consumed
  Dialect dialect_ = Dialect::kUnknown;

  bool is_begun_ = false;  // the query byte of request_ has been read
  Request request_;
  size_t request_bytes_ = 0;      // in request_
  std::string_view fields_;       // fields of the query, in the letters above
  size_t field_ = 0;              // index of the next field
  uint64_t repeats_ = 0;          // how often the fields after `n` still come, including this time
  std::optional<uint64_t> text_;  // the length of the next text
};

}  // namespace muster::torch_store
