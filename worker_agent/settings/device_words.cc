#include "worker_agent/settings/device_words.h"

#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"

namespace muster {
namespace {

constexpr uint32_t kHighestDevice = 65535;

absl::Status Rule(const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("must be addresses with commas between them, one for each process of this node, as in "
                   "192.168.100.101,192.168.101.101, or with the device, 4=192.168.100.101; ",
                   why));
}

bool ParseNumber(absl::string_view text, uint32_t highest, uint32_t& number) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, &number) && number <= highest;
}

}  // namespace

absl::StatusOr<std::vector<DeviceAddress>> ParseDeviceAddresses(const std::string& text) {
  std::vector<DeviceAddress> devices;
  std::set<uint32_t> ids;
  std::set<IpAddress> addresses;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    item = absl::StripAsciiWhitespace(item);
    DeviceAddress device;
    if (const size_t equals = item.find('='); equals != absl::string_view::npos) {
      uint32_t id = 0;
      if (!ParseNumber(item.substr(0, equals), kHighestDevice, id)) {
        return Rule(absl::StrCat("there is no device number in ", Quoted(std::string(item))));
      }
      if (!ids.insert(id).second) return Rule(absl::StrCat("device ", id, " appears twice"));
      device.device_id = id;
      item.remove_prefix(equals + 1);
    }
    const auto address = IpAddress::Parse(std::string(item));
    if (!address || address->is_any()) return Rule(absl::StrCat(Quoted(std::string(item)), " is no address"));
    if (IsLinkLocal(*address)) return Rule(absl::StrCat("an address ", kNoLinkLocal));
    if (!addresses.insert(*address).second) return Rule(absl::StrCat(address->ToString(), " appears twice"));
    device.address = address->ToString();
    devices.push_back(std::move(device));
    if (devices.size() > kMaxSlotsPerNode) return Rule(absl::StrCat("at most ", kMaxSlotsPerNode));
  }
  if (!ids.empty() && ids.size() != devices.size()) return Rule("some name their device and some don't");
  return devices;
}

absl::StatusOr<std::vector<uint32_t>> ParseSuperDeviceIds(const std::string& text) {
  std::vector<uint32_t> ids;
  std::set<uint32_t> seen;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    uint32_t id = 0;
    const bool is_good = ParseNumber(absl::StripAsciiWhitespace(item), UINT32_MAX, id) && seen.insert(id).second;
    if (!is_good || ids.size() >= kMaxSlotsPerNode) {
      return absl::InvalidArgumentError(
          "must be whole numbers with commas between them, one for each process of this node, none twice");
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace muster
