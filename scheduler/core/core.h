// The scheduler's state machine: who is there, who has which rank, who is lost, how each run ends.
//
// No I/O, no threads, no clock, no randomness: equal events at equal times give equal effects, byte for byte. One
// thread owns a Core. Apply decides, writes records, and changes what must survive a crash only through Evolve(record);
// what need not survive (streams, leases, deadlines) it changes directly. Recovery runs Evolve alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "scheduler/core/state/events.h"
#include "scheduler/core/state/options.h"

namespace muster::scheduler {

// Which records this program may decide by: those whose least_reader (journal.proto) is no higher. It rises when a
// record is written that an older program would misunderstand, since it would not see a new field, say.
//   0: 0.1.0
inline constexpr uint32_t kJournalReader = 0;

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
