#include "common/net/ip_address.h"

#include <arpa/inet.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster {

std::optional<IpAddress> IpAddress::Parse(const std::string& text) {
  std::string host = text;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (const size_t zone = host.find('%'); zone != std::string::npos) host.resize(zone);
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return IpAddress(std::string(reinterpret_cast<const char*>(&v4), sizeof(v4)));
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return std::nullopt;
  const std::string bytes(reinterpret_cast<const char*>(&v6), sizeof(v6));
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return IpAddress(bytes.substr(12));
  return IpAddress(bytes);
}

std::optional<IpAddress> IpAddress::FromBytes(const std::string& bytes) {
  if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
  return IpAddress(bytes);
}

bool IpAddress::is_loopback() const {
  if (!is_v6()) return bytes_[0] == 127;
  return bytes_ == std::string(15, '\0') + '\1';
}

bool IpAddress::is_any() const { return bytes_.find_first_not_of('\0') == std::string::npos; }

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(is_v6() ? AF_INET6 : AF_INET, bytes_.data(), text, sizeof(text));
  return text;
}

std::strong_ordering IpAddress::operator<=>(const IpAddress& other) const {
  if (bytes_.size() != other.bytes_.size()) return bytes_.size() <=> other.bytes_.size();
  return std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) <=> 0;
}

std::string JoinHostPort(const std::string& host, uint32_t port) {
  if (host.find(':') != std::string::npos && host.front() != '[') return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

}  // namespace muster
