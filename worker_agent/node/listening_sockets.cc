#include "worker_agent/node/listening_sockets.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/escaping.h"
#include "common/sys/file_io.h"

namespace muster::agent {
namespace {

constexpr char kListenState[] = "0A";

// Returns an address's bytes. The kernel prints the address as words of 4 bytes, each one as a number in this machine's
// byte order.
std::string BytesOf(const std::string& hex) {
  std::string bytes = absl::HexStringToBytes(hex);
  for (size_t word = 0; word + 4 <= bytes.size(); word += 4) {
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(word), bytes.begin() + static_cast<ptrdiff_t>(word + 4));
  }
  return bytes;
}

bool IsFor(const std::string& local, const IpAddress& address, uint16_t port) {
  const size_t colon = local.find(':');
  if (colon == std::string::npos || (colon != 8 && colon != 32) || local.size() != colon + 5) return false;
  const std::string port_bytes = absl::HexStringToBytes(local.substr(colon + 1));
  const int listened = static_cast<unsigned char>(port_bytes[0]) << 8 | static_cast<unsigned char>(port_bytes[1]);
  const auto bound = IpAddress::FromBytes(BytesOf(local.substr(0, colon)));
  return listened == port && bound && (bound->is_any() || *bound == address);
}

constexpr size_t kMaxText = 64 << 20;  // bytes of the kernel's list that are read

}  // namespace

bool HasListener(const std::string& proc_net_tcp, const IpAddress& address, uint16_t port) {
  std::istringstream lines(proc_net_tcp);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    if (words >> number >> local >> remote >> state && state == kListenState && IsFor(local, address, port))
      return true;
  }
  return false;
}

bool IsListenedOn(const IpAddress& address, uint16_t port) {
  return HasListener(ReadSmallFile("/proc/net/tcp", kMaxText).value_or(""), address, port) ||
         HasListener(ReadSmallFile("/proc/net/tcp6", kMaxText).value_or(""), address, port);
}

}  // namespace muster::agent
