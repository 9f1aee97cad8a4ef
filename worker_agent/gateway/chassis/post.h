// Posts steps to the one thread on which a round's gateway runs: its server's thread.
#pragma once

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::agent {

// Any thread, also from inside a step. Steps are dropped once the server has gone.
using Post = std::function<void(std::function<void()> step)>;

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// Wraps `done`, which the job's store calls in any thread, so that it runs as a step. `done` is never called where the
// store says that the round is over: the waiting callers learn why as soon as the agent does (Gateway::WhyOver).
template <typename Answer>
std::function<void(Answer)> Posted(const Post& post, std::function<void(Answer)> done) {
  return [post, done = std::move(done)](Answer answer) {
    if (absl::IsFailedPrecondition(StatusOf(answer))) return;
    post([done, answer = std::move(answer)]() mutable { done(std::move(answer)); });
  };
}

}  // namespace muster::agent
