// The scheduler's state machine: who is there, who has which rank, who is lost, how each run ends.
//
// No I/O, no threads, no clock, no randomness: equal events at equal times give equal effects, byte for byte. One
// thread owns a Core. Apply decides, writes records, and changes what must survive a crash only through Evolve(record);
// what need not survive (streams, leases, deadlines) it changes directly. Recovery runs Evolve alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "scheduler/core/events.h"
#include "scheduler/core/own_settings.h"

namespace muster::scheduler {

// Which records this program may decide by: those whose least_reader (journal.proto) is no higher. It rises when a
// record is written that an older program would misunderstand, since it would not see a new field, say.
//   0: 0.1.0
inline constexpr uint32_t kJournalReader = 0;

struct CoreOptions {
  OwnSettings own;  // of what a job's nodes agree on
  absl::Duration lease = absl::Seconds(600);
  absl::Duration disconnect_grace = absl::Seconds(10);
  absl::Duration stop_timeout = absl::Seconds(30);
  std::optional<absl::Duration> fence_timeout;         // the user's (0: off); else see Context::SpareFence
  bool fence_needs_all_four = false;                   // a fence that falls only as long as one of the four lives: none
  std::optional<absl::Duration> rejoin_timeout;        // else topo_timeout
  absl::Duration topo_timeout = absl::Seconds(1800);   // unless the settings or the first join say otherwise
  std::optional<absl::Duration> heartbeat_interval;    // else 2 s, 5 s above 1,000 agents, at most lease / 3
  absl::Duration keep_runs_for = absl::Hours(24 * 7);  // that have ended
  size_t max_nodes = 1'000'000;                        // of all jobs; see places.cc
  bool is_once = false;                                // one run only; its topology timeout starts with the scheduler
  std::string own_address;                             // that it listens on, if other machines reach it; else empty
  std::string version;
};

class Core {
 public:
  // `cluster_id` is what a fresh cluster is to be called; one that comes out of the journal wins.
  Core(CoreOptions options, std::string cluster_id);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Applies one record that an earlier process wrote. Only before Start.
  void Recover(const v1::Record& record);

  // Whether the recovered records are consistent: a program that keeps the invariants can't have written others. An
  // error says what to do. After the last Recover, before Start.
  absl::Status CheckRecovered() const;

  // What all records so far amount to, as one record (Snapshot).
  v1::Record TakeSnapshot() const;

  // The same, to be made later, once, by any thread, also after this core is gone: taking it is quick whatever the
  // stores hold. `bytes`: about how large it will be.
  struct LaterSnapshot {
    std::function<v1::Record()> make;
    uint64_t bytes = 0;
  };
  LaterSnapshot TakeSnapshotLater() const;

  // Begins a new term. Once, before the first Apply.
  Effects Start(Now now);

  // `now` may not fall; if it does, the highest one seen counts.
  Effects Apply(const Event& event, Now now);

  // When Apply(Tick) is due next; Never() if nothing waits for time.
  MonotonicTime NextDeadline() const;

  // Aborts if an invariant does not hold (tests and simulation call it after every step). See invariants.cc.
  void CheckInvariants() const;

  // Most of what must survive a crash, as text, for tests and simulation: equal states give equal texts. What is only
  // shown is left out; a snapshot's bytes have it all.
  std::string DebugState() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
