// Reads the kernel's log (/dev/kmsg) for faults of this agent's NVIDIA devices. The driver reports them there as Xids
// (common/causes/device_codes.h), often before, and sometimes instead of, a message in the process's output.
//
// Only lines that come after Open count, and those only for kMaxAge: after an older one the process has gone on. A line
// counts for the device with its PCI address; a line of an NVSwitch counts for all devices. Format: Linux,
// Documentation/ABI/testing/dev-kmsg.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "worker_agent/machine/host_roots.h"

namespace muster::agent {

// Returns the numbers of the NVIDIA devices by their PCI addresses, without the function: "0000:3b:00". From
// /proc/driver/nvidia/gpus; empty if there is no such folder.
std::map<std::string, uint32_t> NvidiaDevicesByAddress(const HostRoots& roots);

// One thread owns it.
class KernelLog {
 public:
  KernelLog() = default;  // without a log: it knows of no fault

  // Opens the log at its end. `devices`: those of this agent. If they are empty, nothing is opened; if this process may
  // not read the log, that is logged.
  static KernelLog Open(const HostRoots& roots, std::map<std::string, uint32_t> devices);

  // Takes the lines that have come, and logs the first faults. Never blocks; takes at most kMaxRecords.
  void Read(MonotonicTime now);

  // Returns the number of faults so far, for FaultsAfter.
  uint64_t count() const { return count_; }

  // Returns the newest lines, at most kMaxKernelLines, about faults of the device that came after `count` others and
  // within kMaxAge before `now`. nullopt: about any device of this agent.
  std::vector<std::string> FaultsAfter(uint64_t count, std::optional<uint32_t> device, MonotonicTime now) const;
  static constexpr absl::Duration kMaxAge = absl::Minutes(5);

 private:
  static constexpr int kMaxRecords = 4096;
  static constexpr size_t kMaxFaults = 64;

  struct Fault {
    uint64_t number;  // from 1
    MonotonicTime read_at;
    std::optional<uint32_t> device;  // nullopt: it concerns all devices
    std::string line;
  };

  void Take(const std::string& record, MonotonicTime now);

  UniqueFd fd_;
  std::map<std::string, uint32_t> devices_;
  std::deque<Fault> faults_;
  uint64_t count_ = 0;
};

}  // namespace muster::agent
