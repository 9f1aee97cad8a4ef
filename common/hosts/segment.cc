#include "common/hosts/segment.h"

#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"

namespace muster {

std::string SegmentOf(const std::string& address, const std::string& netmask) {
  const auto parsed = IpAddress::Parse(address);
  if (!parsed) return "";
  const auto mask = IpAddress::Parse(netmask);
  if (!mask || mask->is_v6() != parsed->is_v6()) return "";
  std::string bytes = parsed->bytes();
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bytes[i] & mask->bytes()[i]);
  return absl::StrCat(IpAddress::FromBytes(bytes)->ToString(), "/", mask->ToString());
}

}  // namespace muster
