// What a JAX process asks of its coordination service, and what it is told; how that is written in the service's two
// dialects. Pure. Source: the message descriptors in jaxlib's wheels, 0.4.13 to 0.10.2.
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
  kGetStates,    // of tasks
  kWatchStates,  // of all tasks, once they are others than those that are known
};

struct Request {
  Method method = Method::kHeartbeat;
  std::optional<int32_t> task;       // who asks; none: this request doesn't say
  uint64_t incarnation = 0;          // of the asking task; 0: not told
  uint64_t service_incarnation = 0;  // that the asker takes this service for; 0: not told
  std::string name;                  // a key, a directory or a barrier; the text of a reported error
  std::string value;
  bool may_overwrite = false;
  int64_t increment = 0;
  int64_t counter = 0;         // which one of the barriers with that name
  int64_t timeout_ms = 0;      // of a barrier, or until the asker gives up; 0 or less: none
  std::vector<int32_t> tasks;  // whom a barrier is of (empty: all), or whose states are asked for
  int64_t version = 0;         // of the states that are known; 0 or less: none are
};

// What of it is told depends on the method.
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

// `path` as HTTP/2 has it, "/package.CoordinationService/Method". None: it is not spoken here.
std::optional<Call> CallOf(absl::string_view path);

// INVALID_ARGUMENT: it is not written as this dialect writes it.
absl::StatusOr<Request> ReadRequest(Call call, const std::string& bytes);

std::string WriteReply(Call call, const Reply& reply);

}  // namespace muster::jax
