// The cases of ChooseDevices; the first row that fits applies. "Notice": the result has a line for people, too.
//
// --devices     visible devices              the result
// not a list    none, and                    no devices; notice that one process is started
//                 --local_worker_num auto
// none          any                          no devices
// (not given)   more than slots              no devices; notice of the number found
//               any other number             no devices
// auto          none                         no devices; notice
//               fewer than slots             error
//               any other number             the first ones; notice if there are more
// a list        one of the list is missing   error, which names it
//               fewer in the list than slots error
//               any other number             the first of the list; notice if it has more
//
// An inherited variable such as CUDA_VISIBLE_DEVICES narrows the visible devices. If it names devices by anything but
// numbers (UUIDs), auto and a list are errors.
#include "worker_agent/devices/device_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/number_list.h"

namespace muster::agent {
namespace {

std::string Text(const Devices& found) {
  return absl::StrCat(found.count, " ", found.kind, found.count == 1 ? " device" : " devices");
}

absl::Status TooFew(const std::string& has, uint32_t slots) {
  return absl::InvalidArgumentError(absl::StrCat("devices: ", has, ", but this node runs ", slots,
                                                 " processes, each of which gets one; lower --local_worker_num (auto: "
                                                 "one process for each device), or leave --devices (MS_DEVICES) out"));
}

absl::StatusOr<std::vector<Device>> FindNamed(const std::vector<uint32_t>& named, const Devices& found) {
  std::vector<Device> devices;
  for (const uint32_t number : named) {
    const auto device = std::find_if(found.list.begin(), found.list.end(),
                                     [number](const Device& one) { return one.number == number; });
    if (device == found.list.end()) {
      const std::string there =
          absl::StrJoin(found.list, ",", [](std::string* out, const Device& one) { absl::StrAppend(out, one.number); });
      const std::string variable = VisibleDevicesVariable(found.kind);
      return absl::InvalidArgumentError(absl::StrCat(
          "devices: there is no device ", number, " here; ",
          there.empty() ? "none was found in /dev" : absl::StrCat("there are ", found.kind, " devices ", there),
          variable.empty() ? "" : absl::StrCat(" (", variable, ", if it is set, limits them)"),
          "; correct --devices (MS_DEVICES)"));
    }
    devices.push_back(*device);
  }
  return devices;
}

}  // namespace

std::vector<uint32_t> NamedDevices(const std::string& wanted) {
  std::vector<uint32_t> numbers;
  const auto ranges = ParseNumberRanges(wanted, kMaxSlotsPerNode - 1);
  if (!ranges.ok()) return numbers;
  for (const NumberRange& range : *ranges) {
    for (uint32_t number = range.low; number <= range.high; ++number) {
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
    }
  }
  return numbers;
}

std::vector<uint32_t> NumbersOf(const DeviceChoice& choice) {
  std::vector<uint32_t> numbers;
  for (const Device& device : choice.devices) numbers.push_back(device.number);
  return numbers;
}

std::vector<uint32_t> DevicesInUse(const DeviceChoice& choice, const Devices& visible, uint32_t processes,
                                   bool is_one_for_all) {
  std::vector<uint32_t> used = NumbersOf(choice);
  if (!used.empty()) return used;
  for (const Device& device : visible.list) used.push_back(device.number);
  if (!is_one_for_all && used.size() > processes) used.resize(processes);
  return used;
}

absl::StatusOr<DeviceChoice> ChooseDevices(const DevicesWanted& wanted, const Devices& found) {
  DeviceChoice choice;
  const bool has_devices = found.kind != "CPU";
  if (wanted.is_number_auto && !has_devices && NamedDevices(wanted.devices).empty()) {
    choice.notice =
        "--local_worker_num auto: no Ascend or NVIDIA device is visible in /dev, so one process is started; to start "
        "more, give their number, as in --local_worker_num 8";
    return choice;
  }
  if (wanted.devices == "none") return choice;
  if (wanted.devices.empty()) {
    if (has_devices && found.count > wanted.slots && !wanted.is_one_for_all) {
      choice.notice = absl::StrCat(Text(found), " found, ", wanted.slots,
                                   " used (one by each process): --local_worker_num auto starts a process for each "
                                   "device");
    }
    return choice;
  }
  const std::vector<uint32_t> named = NamedDevices(wanted.devices);
  if (named.empty() && !has_devices) {
    choice.notice = "no devices found: the processes run on the CPU (--devices auto)";
    return choice;
  }
  if (has_devices && found.list.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("devices: ", VisibleDevicesVariable(found.kind),
                     " does not name devices by number; write numbers there, or leave --devices (MS_DEVICES) out"));
  }
  std::vector<Device> devices = found.list;
  if (!named.empty()) {
    absl::StatusOr<std::vector<Device>> those = FindNamed(named, found);
    if (!those.ok()) return those.status();
    devices = *std::move(those);
  }
  const std::string has = absl::StrCat(
      named.empty() ? Text(found) : absl::StrCat(devices.size(), " named by --devices"), named.empty() ? " found" : "");
  if (devices.size() < wanted.slots) return TooFew(has, wanted.slots);
  if (devices.size() > wanted.slots) {
    choice.notice =
        absl::StrCat(has, ", ", wanted.slots, " used: --local_worker_num auto starts a process for each device");
  }
  devices.resize(wanted.slots);
  choice.kind = found.kind;
  choice.are_named = !named.empty();
  choice.devices = std::move(devices);
  return choice;
}

DeviceWords WordsFor(const DeviceChoice& choice, uint32_t slot, bool is_alone) {
  DeviceWords words;
  if (slot >= choice.devices.size()) return words;
  if (!is_alone) {
    words.device_id = absl::StrCat(choice.devices[slot].position);
    return words;
  }
  words.variable = VisibleDevicesVariable(choice.kind);
  words.list = absl::StrJoin(choice.devices, ",",
                             [](std::string* out, const Device& device) { absl::StrAppend(out, device.index); });
  words.device_id = absl::StrCat(slot);
  return words;
}

}  // namespace muster::agent
