// A script's request to its agent about the job's store: one JSON object on one line. The answer is one line too. Pure.
//
//   op                    its members                                the answer's members
//   get                   key                                        value, null if there is no such key
//   peek                  key                                        value as with get, up to a second old
//   wait                  key, limit_ms (5,000 at most)              value, once the key has one
//   set                   key, value, lifetime                       none
//   delete                key                                        none
//   add                   key, delta, lifetime                       number: the sum
//   compare_and_set       key, value, lifetime, expected             value: the key's value after the request
//   list                  prefix, after                              entries: pairs of key and value; has_more
//   barrier               name, rank, limit_ms, ranks (none: all)    none, once all participants have come
//
// Values are in Base64. `lifetime` is "round", which is the default, or "run". If `expected` is null or missing, the
// key must not exist. The answer to a failed request has `error` (the name of gRPC's status code) and `message`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/store/job_store.h"

namespace muster::script_store {

inline constexpr size_t kMaxLineBytes = size_t{256} << 10;  // two values of 64 KiB, and the text around them

enum class Operation { kGet, kPeek, kWait, kSet, kDelete, kAdd, kCompareAndSet, kList, kBarrier };

struct Request {
  Operation operation = Operation::kGet;
  std::string key;  // for kList the prefix, for kBarrier the name
  std::string value;
  std::optional<std::string> expected;
  std::string after;
  int64_t delta = 0;
  int64_t limit_ms = 0;
  Lifetime lifetime = Lifetime::kRound;
  int32_t rank = -1;
  std::vector<int32_t> ranks;
};

// Parses a request. The error is INVALID_ARGUMENT and says what is wrong.
absl::StatusOr<Request> ReadRequest(std::string_view line);

// The answers, as whole lines.
std::string Nothing();
std::string ValueLine(const std::optional<std::string>& value);
std::string NumberLine(int64_t number);
std::string EntriesLine(const JobStore::Listing& listing);
std::string ErrorLine(const absl::Status& status);

}  // namespace muster::script_store
