// Decodes requests of PyTorch's TCPStore. Pure.
//
// The protocol has no frames: a query byte, then its fields. Numbers are in the sender's byte order, assumed to be
// little-endian. Source: torch/csrc/distributed/c10d/TCPStoreBackend.hpp of PyTorch 2.13 and 1.13.
//
//   K  key: u64 length, bytes        V  value: the same        I  i64
//   n  u64 count; the fields after it are repeated             u  u32
//
// A connection of PyTorch 2 begins with VALIDATE and its magic number. One of 1.13 begins with any of its queries,
// which are numbered from 0. A first byte 0 without the magic number after it is 1.13's SET.
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
  int64_t number = 0;  // ADD's, BARRIER's
  uint32_t nonce = 0;  // PING's
};

// Continues where the bytes ended, and looks at nothing twice. Keeps the bytes of a field until it is complete.
class RequestDecoder {
 public:
  void Append(std::string_view bytes);
  // Returns nothing if more bytes are needed. Returns an error if the peer is no client of a store, or exceeds kMax…;
  // then nothing more can be read from it.
  absl::StatusOr<std::optional<Request>> Next();

  Dialect dialect() const { return dialect_; }
  // Bytes held for incomplete requests.
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

  bool is_begun_ = false;  // the query of request_ is known
  Request request_;
  size_t request_bytes_ = 0;      // in request_
  std::string_view fields_;       // of the query, as above
  size_t field_ = 0;              // the next one
  uint64_t repeats_ = 0;          // repetitions of the fields after `n` still to come, with this one
  std::optional<uint64_t> text_;  // the length of the next text
};

}  // namespace muster::torch_store
