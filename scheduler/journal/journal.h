// Where the scheduler's records go. Implementations: memory here, SQLite and a faulty one for tests to come; all pass
// one contract suite (tests/contract).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/v1/journal.pb.h"

namespace muster::scheduler {

class Journal {
 public:
  virtual ~Journal() = default;

  // Hands every durable record, oldest first, to `take`. Once, before the first Append.
  virtual absl::Status Replay(const std::function<void(const v1::Record&)>& take) = 0;

  // Appends records as one unit; called by one thread, never blocks on the disk. When everything up to and including
  // these is durable, `on_durable(sequence)` (set below) is called with the sequence of the last one. Sequences start
  // at 1 and rise by one for each record. A journal that can no longer make records durable ends the process.
  // Returns the sequence of the last record.
  virtual uint64_t Append(std::vector<v1::Record> records) = 0;

  // `on_durable` may be called from any thread, also from inside Append; its argument never falls.
  virtual void SetOnDurable(std::function<void(uint64_t)> on_durable) = 0;

  // Whether records outlive this process.
  virtual bool IsPersistent() const = 0;

  // For people: "memory", a path.
  virtual std::string Describe() const = 0;
};

}  // namespace muster::scheduler
