// A numeric IPv4 or IPv6 address, without port. Pure: it never looks up a name (net.h does).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace muster {

class IpAddress {
 public:
  // Parses "10.0.0.1", "::1", "[::1]", "fe80::1%eth0" (the zone is dropped); an IPv4 address mapped into IPv6 becomes
  // IPv4.
  static std::optional<IpAddress> Parse(const std::string& text);
  // `bytes`: 4 or 16 bytes in network order.
  static std::optional<IpAddress> FromBytes(const std::string& bytes);

  const std::string& bytes() const { return bytes_; }
  bool is_v6() const { return bytes_.size() == 16; }
  bool is_loopback() const;
  bool is_any() const;
  std::string ToString() const;

  // Orders IPv4 before IPv6, then by value as a number.
  std::strong_ordering operator<=>(const IpAddress& other) const;
  bool operator==(const IpAddress& other) const { return bytes_ == other.bytes_; }

 private:
  explicit IpAddress(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

// Returns "10.0.0.1:8118", "[::1]:8118", "node1:8118".
std::string JoinHostPort(const std::string& host, uint32_t port);

}  // namespace muster
