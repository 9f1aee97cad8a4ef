// Parses the values of --device_ips and --super_device_ids. Pure. An error says the rule, but does not name the
// setting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

struct DeviceAddress {
  std::optional<uint32_t> device_id;  // nullopt: its place in the list says which slot's device it is
  std::string address;                // numeric
};

// Parses a list of addresses, "192.168.100.101,192.168.101.101", or, with device ids, "4=192.168.100.101,5=…". Either
// all items name a device or none does. No device and no address may occur twice.
absl::StatusOr<std::vector<DeviceAddress>> ParseDeviceAddresses(const std::string& text);

// Parses a list of different whole numbers, "0,1,2".
absl::StatusOr<std::vector<uint32_t>> ParseSuperDeviceIds(const std::string& text);

}  // namespace muster
