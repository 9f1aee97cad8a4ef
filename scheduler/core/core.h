// The scheduler's state machine. It decides which nodes are in, which ranks they have, which are lost, and how runs
// end.
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

// This program may decide by a record only if the record's least_reader (journal.proto) is no higher than this. It
// rises when programs start to write a record that an older one would misunderstand, for example by not seeing a new
// field.
//   0: 0.1.0
inline constexpr uint32_t kJournalReader = 0;

class Core {
 public:
  // `cluster_id` names a fresh cluster; an id that comes out of the journal takes precedence.
  Core(CoreOptions options, std::string cluster_id);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Applies one record that an earlier process wrote. Only before Start.
  void Recover(const v1::Record& record);

  // Fails if the recovered records are inconsistent: no program that keeps the invariants can have written them. The
  // error says what to do. Call it after the last Recover and before Start.
  absl::Status CheckRecovered() const;

  // Returns the sum of all records so far, as one record (Snapshot).
  v1::Record TakeSnapshot() const;

  // Does the same in two steps: any thread may make the record later, once, even after this core is gone. Taking it is
  // quick however much the stores hold. `bytes` is its approximate size.
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

  // Returns most of what must survive a crash as text, for tests and simulation: equal states give equal texts. It
  // leaves out what is only shown; a snapshot's bytes have all.
  std::string DebugState() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
