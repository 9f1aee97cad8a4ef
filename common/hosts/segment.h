// Network segments of devices. Pure.
#pragma once

#include <string>

namespace muster {

// "192.168.100.0/255.255.255.0": the segment that an address lies in. Empty: `address` is none, or `netmask` is no mask
// for it.
std::string SegmentOf(const std::string& address, const std::string& netmask);

}  // namespace muster
