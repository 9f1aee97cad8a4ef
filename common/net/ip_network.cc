#include "common/net/ip_network.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster {

bool IpNetwork::Contains(const IpAddress& other) const {
  if (address.bytes().size() != other.bytes().size()) return false;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned char differ = static_cast<unsigned char>(address.bytes()[bit / 8] ^ other.bytes()[bit / 8]);
    if ((differ & (0x80U >> bit % 8)) != 0) return false;
  }
  return true;
}

absl::StatusOr<std::vector<IpNetwork>> ParseNetworks(const std::string& text) {
  std::vector<IpNetwork> networks;
  for (const absl::string_view piece : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(absl::StripAsciiWhitespace(piece), absl::MaxSplits('/', 1));
    std::optional<IpAddress> address = IpAddress::Parse(parts.first);
    if (!address) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", piece, "\" is no numeric address or network such as 10.0.0.0/8"));
    }
    const unsigned most = address->is_v6() ? 128 : 32;
    unsigned bits = most;
    if (!parts.second.empty() && (!absl::SimpleAtoi(parts.second, &bits) || bits > most)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", piece, "\" is no network: after the slash comes a number of bits, at most ", most));
    }
    networks.push_back({*std::move(address), bits});
  }
  return networks;
}

}  // namespace muster
