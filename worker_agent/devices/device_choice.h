// --devices: chooses this machine's devices for the processes of this agent, one for each slot. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/machine/machine.h"

namespace muster::agent {

// Returns the numbers in a list such as "0-2,5", in its order, each once. Empty for "auto", "none" and "".
std::vector<uint32_t> NamedDevices(const std::string& wanted);

struct DevicesWanted {
  std::string devices;  // --devices, checked; empty: not given
  uint32_t slots = 1;
  bool is_one_for_all = false;  // --per_node, --per_job: a single process, which may use all devices
  bool is_number_auto = false;  // --local_worker_num auto
};

struct DeviceChoice {
  std::string kind;             // "Ascend" or "NVIDIA"; empty: no device is chosen
  std::vector<Device> devices;  // one for each slot
  bool are_named = false;       // --devices names them, so they replace an inherited variable of visible devices
  std::string notice;           // one line for people; may be empty
};

std::vector<uint32_t> NumbersOf(const DeviceChoice& choice);

// Returns the numbers of the devices that `processes` processes use: the chosen ones, or else the first of the visible
// ones, one for each process. A single process for all slots may use all of them.
std::vector<uint32_t> DevicesInUse(const DeviceChoice& choice, const Devices& visible, uint32_t processes,
                                   bool is_one_for_all);

// Chooses the devices by the table in device_choice.cc. The error says which devices can't be used, and what to do.
absl::StatusOr<DeviceChoice> ChooseDevices(const DevicesWanted& wanted, const Devices& found);

// The words that name a process's device in its environment.
struct DeviceWords {
  std::string variable;   // the variable of visible devices, as CUDA_VISIBLE_DEVICES; empty: it is not set
  std::string list;       // its value
  std::string device_id;  // DEVICE_ID; empty: the local rank
};

// Returns the words for the process of `slot`. `is_alone`: no other agent of the job runs on this machine. Otherwise
// local ranks count over all agents of the machine, and no list of visible devices is set: it would name only this
// agent's devices, so a process that opens the device of its local rank could look beyond the end of the list.
DeviceWords WordsFor(const DeviceChoice& choice, uint32_t slot, bool is_alone);

}  // namespace muster::agent
