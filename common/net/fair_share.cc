#include "common/net/fair_share.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

// Returns the address with all bytes after the first `v4_bytes` or `v6_bytes` set to 0.
IpAddress Cut(const IpAddress& address, size_t v4_bytes, size_t v6_bytes) {
  static const std::string* const mapped = new std::string(std::string(10, '\0') + "\xff\xff");
  std::string bytes = address.bytes();
  if (address.is_v6() && bytes.compare(0, mapped->size(), *mapped) == 0) bytes.erase(0, mapped->size());
  const size_t kept = bytes.size() == 4 ? v4_bytes : v6_bytes;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(kept), bytes.end(), '\0');
  return *IpAddress::FromBytes(bytes);
}

}  // namespace

IpAddress FairShare(const IpAddress& address) { return Cut(address, 4, 8); }

std::string FairShareName(const IpAddress& address) {
  const IpAddress share = FairShare(address);
  return absl::StrCat(share.ToString(), share.is_v6() ? "/64" : "");
}

std::string PrincipalOf(const std::string& identity, const std::string& address) {
  if (!identity.empty()) return identity;
  const std::optional<IpAddress> numeric = IpAddress::Parse(address);
  return numeric ? FairShareName(*numeric) : address;
}

IpAddress FairNetwork(const IpAddress& address) { return Cut(address, 3, 6); }

}  // namespace muster
