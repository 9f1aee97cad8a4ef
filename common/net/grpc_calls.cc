#include "common/net/grpc_calls.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"

namespace muster {

std::optional<GrpcPeer> ParseGrpcPeer(const std::string& text) {
  if (!absl::StartsWith(text, "ipv4:") && !absl::StartsWith(text, "ipv6:")) return std::nullopt;
  const std::string rest = absl::StrReplaceAll(text.substr(5), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const size_t colon = rest.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(rest.substr(colon + 1), &port) || port > 65535) {
    return std::nullopt;
  }
  const auto address = IpAddress::Parse(rest.substr(0, colon));
  if (!address) return std::nullopt;
  return GrpcPeer{*address, static_cast<uint16_t>(port)};
}

}  // namespace muster
