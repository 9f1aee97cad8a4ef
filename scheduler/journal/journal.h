// The log of the scheduler's records. Implementations: memory, SQLite, and a faulty one for tests; all pass one
// contract suite (tests/contract).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/journal.pb.h"

namespace muster::scheduler {

// A snapshot that may not be built yet. The writer thread then builds it, once.
struct JournalSnapshot {
  JournalSnapshot(std::function<v1::Record()> make_later, uint64_t about) : make(std::move(make_later)), bytes(about) {}
  JournalSnapshot(v1::Record record)  // NOLINT(google-explicit-constructor): what is made already
      : make([record] { return record; }), bytes(record.ByteSizeLong()) {}

  std::function<v1::Record()> make;
  uint64_t bytes = 0;  // approximate
};

class Journal {
 public:
  virtual ~Journal() = default;

  // Passes every durable record, oldest first, to `take`. Call it once, before the first Append.
  virtual absl::Status Replay(const std::function<void(const v1::Record&)>& take) = 0;

  // Appends records as one unit; called by one thread, never blocks on the disk. Once these and all before them are
  // durable, calls `on_durable(sequence)` (set below) with the sequence of the last one. Sequences start at 1 and rise
  // by one for each record. A journal that can no longer make records durable ends the process. Returns the sequence of
  // the last record.
  virtual uint64_t Append(std::vector<v1::Record> records) = 0;

  // True if enough was appended since the last snapshot for a new one to pay. Called by the thread that appends.
  virtual bool WantsSnapshot() const = 0;

  // `snapshot` is the sum of all records appended so far. Once it is durable, the journal may drop them, and Replay
  // begins with it. Takes no sequence. Same thread as Append, never blocks on the disk.
  virtual void AppendSnapshot(JournalSnapshot snapshot) = 0;

  // `on_durable` may be called on any thread, also inside Append; its argument never falls. Once this returns, the
  // previous one is not called any more; null: none is called. Don't call this inside on_durable.
  virtual void SetOnDurable(std::function<void(uint64_t)> on_durable) = 0;

  // True while the disk is full: records are kept, and become durable once there is room again. Any thread.
  virtual bool IsStalled() const { return false; }

  // Returns the approximate bytes of the last snapshot and the records since; 0: nothing is kept. The thread that
  // appends.
  virtual uint64_t Bytes() const { return 0; }

  // True if records outlive this process.
  virtual bool IsPersistent() const = 0;

  // Returns a description for people: "memory", a path.
  virtual std::string Describe() const = 0;
};

}  // namespace muster::scheduler
