// The true state of the training processes: which are alive anywhere, what each one died of, and what they left
// running.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/base/exit_status.h"
#include "muster/v1/types.pb.h"
#include "tests/sim/random.h"
#include "tests/sim/sim.h"

namespace muster::sim {

inline constexpr int kKill = 9;  // SIGKILL, without the system's header

struct RunName {
  std::string cluster_id;
  std::string job_id;
  uint64_t run = 0;
  auto operator<=>(const RunName&) const = default;
  std::string Text() const { return absl::StrCat(cluster_id, "/", job_id, "/run ", run); }
};

// Identifies a place in which only one live process may ever be.
struct PlaceName {
  RunName run;
  uint32_t round = 0;
  v1::Role role = v1::ROLE_WORKER;
  uint32_t rank = 0;
  auto operator<=>(const PlaceName&) const = default;
  std::string Text() const {
    return absl::StrCat(run.Text(), "/round ", round, role == v1::ROLE_SERVER ? "/server rank " : "/rank ", rank);
  }
};

class Processes {
 public:
  // Makes a process fail by itself with this exit code.
  using Fail = std::function<void(int exit_code)>;

  Processes(Sim& sim, Random random) : sim_(sim), random_(random) {}

  void Begin(const PlaceName& place, uint64_t incarnation, Fail fail);
  // If a process does not end with 0, its peers fail soon after.
  void End(const PlaceName& place, ExitStatus death, bool is_stop);

  // A process that a training process started in a session of its own: it does work for the same place, and may outlive
  // it.
  void BeginDescendant(const PlaceName& place, uint64_t incarnation);
  void EndDescendant(const PlaceName& place) { descendants_.erase(place); }
  void EndDescendantsOf(uint64_t incarnation) {
    std::erase_if(descendants_, [&](const auto& entry) { return entry.second == incarnation; });
  }

  bool IsAnyAlive() const { return !alive_.empty() || !descendants_.empty(); }
  bool IsAnyAlive(uint64_t incarnation) const;
  bool HasDied(const PlaceName& place, ExitStatus death) const;
  void NoteHang(const PlaceName& place) { hung_.insert(place); }
  bool HasHung(const PlaceName& place) const { return hung_.contains(place); }
  std::string Text() const;

 private:
  struct Live {
    uint64_t incarnation = 0;
    Fail fail;
  };

  Sim& sim_;
  Random random_;
  std::map<PlaceName, Live> alive_;
  std::map<PlaceName, uint64_t> descendants_;  // the value is the incarnation that owns it
  std::set<std::pair<PlaceName, ExitStatus>> deaths_;
  std::set<PlaceName> hung_;
};

}  // namespace muster::sim
