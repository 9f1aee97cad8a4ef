// Texts of any size in the job's store, in pieces that are as large as a value of the store may be. The first piece
// begins with the text's length. The keys belong to the round (Lifetime::kRound). `store` and `clock` must outlive all
// calls of `done`. `done` is called once, by a thread of the store or from inside the call.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"

namespace muster::agent {

// Returns the number of pieces of a text of `bytes` bytes.
size_t PiecesOf(size_t bytes);

// Writes the pieces in order, from the first on.
void WriteText(JobStore& store, const std::string& name, const std::string& bytes, JobStore::Done done);

struct WantedText {
  std::string name;
  size_t most = 0;  // bytes
  MonotonicTime deadline;
  size_t bytes = 0;  // the text's size if it is known, to read several pieces at once; 0: not known
};
using TextDone = std::function<void(absl::StatusOr<std::string> text)>;

// Reads the text, waiting until it is complete. Errors besides the store's:
//   kDeadlineExceeded  the text was not complete by `deadline`
//   kInvalidArgument   the value in the store is not such a text, or the text is larger than `most`
void ReadText(JobStore& store, const Clock& clock, WantedText wanted, TextDone done);

void DeleteText(JobStore& store, const std::string& name, size_t pieces);

}  // namespace muster::agent
