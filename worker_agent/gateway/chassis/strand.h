// Where a gateway of a round runs: one thread, that of its server. What others have to say to it is posted.
#pragma once

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::agent {

// Any thread, also from inside a step. Dropped once the server has gone.
using Post = std::function<void(std::function<void()> step)>;

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// `done`, which the job's store calls in any thread, as a step. Never comes where the store says that the round is
// over: whoever waits is told why as soon as the agent knows (Gateway::WhyOver).
template <typename Answer>
std::function<void(Answer)> Posted(const Post& post, std::function<void(Answer)> done) {
  return [post, done = std::move(done)](Answer answer) {
    if (absl::IsFailedPrecondition(StatusOf(answer))) return;
    post([done, answer = std::move(answer)]() mutable { done(std::move(answer)); });
  };
}

}  // namespace muster::agent
