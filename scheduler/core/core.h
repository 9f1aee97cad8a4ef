// The scheduler's state machine. It decides which nodes belong to a run, which ranks they have, which nodes are lost,
// and how runs end.
//
// No I/O, no threads, no clock, no randomness: equal events at equal times give equal effects, byte for byte. One
// thread owns a Core. Apply decides and writes records. It changes the durable state only through Evolve(record); it
// changes the state that need not survive a crash (streams, leases, deadlines) directly. Recovery runs Evolve alone.
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

// The highest least_reader (journal.proto) of a record that this program understands. The number rises when a program
// starts to write a record that an older program would misunderstand, for example because it does not know a new field.
//   0: since version 0.1.0
inline constexpr uint32_t kJournalReader = 0;

class Core {
 public:
  // `cluster_id` names a fresh cluster; an id that comes out of the journal takes precedence.
  Core(CoreOptions options, std::string cluster_id);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Applies one record that an earlier process wrote. Call it only before Start.
  void Recover(const v1::Record& record);

  // Fails if the recovered records are inconsistent: no program that keeps the invariants can have written them. The
  // error says what to do. Call it after the last Recover and before Start.
  absl::Status CheckRecovered() const;

  // Returns the sum of all records so far, as one record (Snapshot).
  v1::Record TakeSnapshot() const;

  // Takes the same snapshot in two steps. This call is quick, even if the stores hold many values. Any thread may call
  // `make` later, only once, and even after this core is gone. `bytes` is the approximate size of the record.
  struct LaterSnapshot {
    std::function<v1::Record()> make;
    uint64_t bytes = 0;
  };
  LaterSnapshot TakeSnapshotLater() const;

  // Begins a new term. Call it once, before the first Apply.
  Effects Start(Now now);

  // `now` must not fall; if it does, the highest one seen counts.
  Effects Apply(const Event& event, Now now);

  // Returns when Apply(Tick) is due next; Never() if nothing waits for time.
  MonotonicTime NextDeadline() const;

  // Aborts if an invariant does not hold (tests and simulation call it after every step). See invariants.cc.
  void CheckInvariants() const;

  // Returns most of the durable state as text, for tests and simulation: equal states give equal texts. It leaves out
  // values that are only shown to people; a snapshot has those, too.
  std::string DebugState() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
