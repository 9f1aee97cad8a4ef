// --devices: the devices of this machine for the processes of this agent, one for each slot. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/machine/machine.h"

namespace muster::agent {

// Returns the numbers of "0-2,5", none twice, in that order; empty for "auto", "none" and "".
std::vector<uint32_t> NamedDevices(const std::string& wanted);

struct DevicesWanted {
  std::string devices;  // --devices, checked; empty: not given
  uint32_t slots = 1;
  bool is_one_for_all = false;  // --per_node, --per_job: one process may well use them all
  bool is_number_auto = false;  // --local_worker_num auto
};

struct DeviceChoice {
  std::string kind;             // "Ascend" or "NVIDIA"; empty: the processes are given none
  std::vector<Device> devices;  // one for each slot
  bool are_named = false;       // by the user, and so above an inherited variable
  std::string notice;           // one line for people; may be empty
};

std::vector<uint32_t> NumbersOf(const DeviceChoice& choice);

// The error says which devices can't be given, and what to do.
absl::StatusOr<DeviceChoice> ChooseDevices(const DevicesWanted& wanted, const Devices& found);

// The words for the device in the environment of a process of `slot`.
struct DeviceWords {
  std::string variable;  // of visible devices; empty: it is left alone
  std::string list;
  std::string device_id;  // empty: the local rank
};

// `is_alone`: no other agent of the job is on this machine. Else local ranks count over all of them, and a list of this
// agent's devices would lead a process that opens the device of its local rank beyond its end.
DeviceWords WordsFor(const DeviceChoice& choice, uint32_t slot, bool is_alone);

}  // namespace muster::agent
