// Texts of any size in the job's store, in pieces of a value's largest size. The first piece begins with the length.
// The keys belong to the round (Lifetime::kRound). `store` and `clock` must outlive all calls of `done`. `done` is
// called once, by a thread of the store or from inside the call.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"

namespace muster::agent {

// Returns the number of pieces of a text with so many bytes.
size_t PiecesOf(size_t bytes);

// Writes the pieces in order, from the first on.
void WriteText(JobStore& store, const std::string& name, const std::string& bytes, JobStore::Done done);

struct WantedText {
  std::string name;
  size_t most = 0;  // bytes
  MonotonicTime deadline;
  size_t bytes = 0;  // the text's size where it is known: then its first pieces are read at once
};
using TextDone = std::function<void(absl::StatusOr<std::string> text)>;

// Reads the text, waiting until it is complete. Errors besides the store's:
//   kDeadlineExceeded  it was not complete by then
//   kInvalidArgument   the value there is no such text, or a larger one
void ReadText(JobStore& store, const Clock& clock, WantedText wanted, TextDone done);

void DeleteText(JobStore& store, const std::string& name, size_t pieces);

}  // namespace muster::agent
