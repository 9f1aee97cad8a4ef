// The log of the scheduler's records: its decisions, from which the next start restores the state. There are three
// implementations: in memory, on SQLite, and a faulty one for tests. All pass the same tests (tests/contract).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/journal.pb.h"

namespace muster::scheduler {

// A record with the whole state. It may be made later: the journal's writer thread calls `make` once.
struct JournalSnapshot {
  JournalSnapshot(std::function<v1::Record()> make_later, uint64_t about) : make(std::move(make_later)), bytes(about) {}
  JournalSnapshot(v1::Record record)  // NOLINT(google-explicit-constructor): a snapshot that exists already
      : make([record] { return record; }), bytes(record.ByteSizeLong()) {}

  std::function<v1::Record()> make;
  uint64_t bytes = 0;  // approximate size
};

class Journal {
 public:
  virtual ~Journal() = default;

  // Calls `take` with each record that an earlier process made durable, oldest first. Call it once, before the first
  // Append.
  virtual absl::Status Replay(const std::function<void(const v1::Record&)>& take) = 0;

  // Appends records, which become durable all together or not at all. Returns the sequence of the last one. Sequences
  // start at 1 and rise by one for each record. Once these records and all earlier ones are durable, the journal calls
  // the function of SetOnDurable with this sequence. Never blocks on the disk. Always call it on the same thread. If
  // the journal can no longer make records durable, it ends the process.
  virtual uint64_t Append(std::vector<v1::Record> records) = 0;

  // True if so much was appended since the last snapshot that a new one is worth its cost. Call it on the thread that
  // appends.
  virtual bool WantsSnapshot() const = 0;

  // Appends the state after all records appended so far. Once the snapshot is durable, the journal may drop these
  // records, and Replay begins with the snapshot. A snapshot has no sequence of its own. Never blocks on the disk. Call
  // it on the thread that appends.
  virtual void AppendSnapshot(JournalSnapshot snapshot) = 0;

  // Sets the function that is called when records have become durable, with the sequence of the last durable record.
  // The journal may call it on any thread, also inside Append; its argument never falls. Once SetOnDurable returns, the
  // journal does not call the previous function any more. Null: it calls none. Don't call SetOnDurable inside
  // `on_durable`.
  virtual void SetOnDurable(std::function<void(uint64_t)> on_durable) = 0;

  // True while the disk is full. The journal then keeps records in memory, and makes them durable once there is room
  // again. Any thread.
  virtual bool IsStalled() const { return false; }

  // Returns the approximate size of the last snapshot and the records after it, in bytes; 0: the journal keeps nothing.
  // Call it on the thread that appends.
  virtual uint64_t Bytes() const { return 0; }

  // True if records outlive this process.
  virtual bool IsPersistent() const = 0;

  // Returns the journal's name for messages: "memory", or its path.
  virtual std::string Describe() const = 0;
};

}  // namespace muster::scheduler
