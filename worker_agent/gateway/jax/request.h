// The requests of JAX processes to their coordination service, and the replies, in the service's two dialects. Pure.
// Source: the message descriptors in jaxlib's wheels, 0.4.13 to 0.10.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::jax {

enum class Method {
  kRegister,
  kHeartbeat,
  kPollForError,
  kShutdown,
  kReset,
  kReportError,
  kInsert,
  kGet,
  kTryGet,
  kIncrement,
  kGetDirectory,
  kDelete,
  kBarrier,
  kCancelBarrier,
  kGetAlive,
  kGetStates,    // the states of some tasks
  kWatchStates,  // the states of all tasks, when they differ from the version in the request
};

struct Request {
  Method method = Method::kHeartbeat;
  std::optional<int32_t> task;       // the calling task; none: the request does not name it
  uint64_t incarnation = 0;          // of the calling task; 0: not given
  uint64_t service_incarnation = 0;  // of the service that the caller expects; 0: not given
  std::string name;                  // a key, a directory or a barrier; the text of a reported error
  std::string value;
  bool may_overwrite = false;
  int64_t increment = 0;
  int64_t counter = 0;         // which of the barriers with this name
  int64_t timeout_ms = 0;      // how long the barrier may take, or the caller waits; 0 or less: no limit
  std::vector<int32_t> tasks;  // a barrier's participants (empty: all), or the tasks to report on
  int64_t version = 0;         // of the states that the caller has; 0 or less: it has none
};

// The method determines which fields are sent.
struct Reply {
  uint64_t incarnation = 0;
  std::string directory;
  std::vector<std::pair<std::string, std::string>> values;
  int64_t counter = 0;
  std::vector<int32_t> tasks;
  std::vector<uint64_t> incarnations;  // of `tasks`
  int64_t version = 0;                 // of the states
};

enum class Dialect { kOld, kNew };  // package tensorflow, up to jaxlib 0.9; package xla.coordination, from 0.10 on

struct Call {
  Dialect dialect = Dialect::kNew;
  Method method = Method::kHeartbeat;
};

// `path` is the one in HTTP/2: "/package.CoordinationService/Method". Returns nothing if no such method is served.
std::optional<Call> CallOf(absl::string_view path);

// Returns INVALID_ARGUMENT if the bytes don't fit the dialect.
absl::StatusOr<Request> ReadRequest(Call call, const std::string& bytes);

std::string WriteReply(Call call, const Reply& reply);

}  // namespace muster::jax
