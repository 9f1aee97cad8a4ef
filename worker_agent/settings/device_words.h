// The words of --device_ips and --super_device_ids. Pure; errors say the rule only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

struct DeviceAddress {
  std::optional<uint32_t> device_id;  // nullopt: by its place in the list
  std::string address;                // numeric
};

// Reads "192.168.100.101,192.168.101.101", or with device ids, "4=192.168.100.101,5=192.168.101.101". All items or none
// name a device; no device and no address occurs twice.
absl::StatusOr<std::vector<DeviceAddress>> ParseDeviceAddresses(const std::string& text);

// Reads "0,1,2": whole numbers, none twice.
absl::StatusOr<std::vector<uint32_t>> ParseSuperDeviceIds(const std::string& text);

}  // namespace muster
