// Network segments of devices. Pure.
#pragma once

#include <string>

namespace muster {

// "192.168.100.0/255.255.255.0": the segment that an address lies in. Without a mask 24 bits (IPv6: 64) count. Empty:
// `address` is none.
std::string SegmentOf(const std::string& address, const std::string& netmask);

}  // namespace muster
