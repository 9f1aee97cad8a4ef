// PMI-1, the text protocol that MPICH and its family speak with their launcher, for the ranks of one agent: lines of
// "cmd=… key=value …" (MPICH's src/pmi/simple). Pure: what comes in are lines, what goes out are lines and fences.
//
// What ranks put is kept until the barrier that all of them have come to, and goes to the other agents as one bundle.
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

// PMI-1's PMI_process_mapping: "(vector,(first machine,machines,ranks on each),…)". Empty where it is longer than a
// value may be: MPICH then finds out by itself.
std::string ProcessMapping(const RoundLayout& layout, size_t most_bytes);

// How far a rank has come.
struct MpiProgress {
  bool has_connected = false;
  bool has_finalized = false;
  bool has_aborted = false;
  int abort_code = 0;
  std::string abort_message;
  std::string error;  // what could not be served; empty: nothing
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
    std::string line;  // with its end
  };
  struct Step {
    std::vector<Reply> replies;
    bool has_fence = false;  // `bundle` is to be gathered, and Gathered called with what comes of it
    std::string bundle;
  };

  explicit Pmi1(const RoundLayout& layout);

  // One line of a rank, without its end. An error: it is to be served no longer, and `progress` says why.
  absl::StatusOr<Step> OnLine(uint32_t slot, absl::string_view line);
  // An error: nobody gets out of the barrier.
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
