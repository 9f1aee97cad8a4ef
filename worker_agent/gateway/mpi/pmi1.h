// PMI-1, the text protocol between MPICH's family and its launcher, for the ranks of one agent. It consists of lines of
// "cmd=… key=value …" (MPICH's src/pmi/simple). Pure: it takes lines, and returns lines and fences.
//
// The values that ranks put are kept until all ranks are in the next barrier. Then they go to the other agents as one
// bundle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {

// Returns PMI-1's PMI_process_mapping: "(vector,(first machine,machines,ranks on each),…)". Returns "" if it is longer
// than `most_bytes`: MPICH then finds the mapping by itself.
std::string ProcessMapping(const RoundLayout& layout, size_t most_bytes);

// A rank's progress, as its messages show it.
struct MpiProgress {
  bool has_connected = false;
  bool has_finalized = false;
  bool has_aborted = false;
  int abort_code = 0;
  std::string abort_message;
  std::string error;  // why the rank could not be served; empty: it could
};

class Pmi1 {
 public:
  static constexpr size_t kMaxLineBytes = 4096;
  static constexpr size_t kMaxNameBytes = 256;
  static constexpr size_t kMaxKeyBytes = 256;
  static constexpr size_t kMaxValueBytes = 1024;
  static constexpr size_t kMaxPutsOfRank = 1024;  // between two barriers

  struct Reply {
    uint32_t slot = 0;
    std::string line;  // with its newline
  };
  struct Step {
    std::vector<Reply> replies;
    bool has_fence = false;  // if true, the caller must gather `bundle` and call Gathered with the result
    std::string bundle;
  };

  explicit Pmi1(const RoundLayout& layout);

  // Takes one line of a rank, without its newline. After an error the rank is no longer served, and `progress` says
  // why.
  absl::StatusOr<Step> OnLine(uint32_t slot, absl::string_view line);
  // Takes the result of a fence. After an error no rank leaves the barrier.
  Step Gathered(const absl::StatusOr<std::vector<std::string>>& bundles);

  const MpiProgress& progress(uint32_t slot) const { return ranks_[slot].progress; }

 private:
  struct Rank {
    MpiProgress progress;
    bool is_in_barrier = false;
    size_t puts = 0;
  };
  using Words = std::map<std::string, std::string, std::less<>>;

  absl::Status Put(Rank& rank, const Words& words);
  std::string Get(const Words& words) const;
  absl::Status TakeBundle(absl::string_view bundle);

  const std::string name_;  // of the key space
  const uint32_t size_;
  std::vector<Rank> ranks_;  // by slot
  std::map<std::string, std::string, std::less<>> values_;
  size_t value_bytes_ = 0;
  std::string bundle_;
};

}  // namespace muster::agent
