// Texts of any size in the job's store: in pieces of a value's largest size, with the length in front of the first.
// They are of the round (Lifetime::kRound). `store` and `clock` must outlive all calls of `done`, which is called once,
// by a thread of the store's or from inside the call.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"

namespace muster::agent {

// How many pieces a text of so many bytes has.
size_t PiecesOf(size_t bytes);

// In order, the first piece first.
void WriteText(JobStore& store, const std::string& name, const std::string& bytes, JobStore::Done done);

struct WantedText {
  std::string name;
  size_t most = 0;  // bytes
  MonotonicTime deadline;
  size_t bytes = 0;  // as many as it has, where that is known: then its first pieces are asked for at once
};
using TextDone = std::function<void(absl::StatusOr<std::string> text)>;

// Waits until it is there as a whole. Errors besides the store's:
//   kDeadlineExceeded  it was not by then
//   kInvalidArgument   what stands there is no such text, or a larger one
void ReadText(JobStore& store, const Clock& clock, WantedText wanted, TextDone done);

void DeleteText(JobStore& store, const std::string& name, size_t pieces);

}  // namespace muster::agent
