// Runs steps (functions) on the one thread of a round's gateway, which is its server's thread.
#pragma once

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::agent {

// Any thread may call it, also from inside a step. After the server's end it drops the steps.
using Post = std::function<void(std::function<void()> step)>;

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// Wraps `done`, a callback for the job's store, so that it runs as a step and not in the store's thread. If the
// store answers that the round is over, `done` is never called. The gateway itself answers its clients when it learns
// why the round is over (Gateway::WhyOver).
template <typename Answer>
std::function<void(Answer)> Posted(const Post& post, std::function<void(Answer)> done) {
  return [post, done = std::move(done)](Answer answer) {
    if (absl::IsFailedPrecondition(StatusOf(answer))) return;
    post([done, answer = std::move(answer)]() mutable { done(std::move(answer)); });
  };
}

}  // namespace muster::agent
