// Network segments of devices. Pure.
#pragma once

#include <string>

namespace muster {

// Returns the segment that an address lies in: "192.168.100.0/255.255.255.0". Empty if `address` is no address, or
// `netmask` no mask for it.
std::string SegmentOf(const std::string& address, const std::string& netmask);

}  // namespace muster
