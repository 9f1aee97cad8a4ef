// Network segments of devices. Pure.
#pragma once

#include <string>

namespace muster {

// Returns the network segment of an address: "192.168.100.0/255.255.255.0". Empty if `address` is no address, or if
// `netmask` is no mask for it.
std::string SegmentOf(const std::string& address, const std::string& netmask);

}  // namespace muster
