#include "common/net/fair_share.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(FairShare, IsAnIpv4AddressOrAnIpv6Slash64) {
  const struct {
    std::string address, share, network;
  } cases[] = {
      {"10.1.2.3", "10.1.2.3", "10.1.2.0"},
      {"::ffff:10.1.2.3", "10.1.2.3", "10.1.2.0"},
      {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::"},
      {"2001:db8:1:2:ffff::", "2001:db8:1:2::/64", "2001:db8:1::"},
      {"2001:db8:1:3::", "2001:db8:1:3::/64", "2001:db8:1::"},
      {"fe80::1%eth0", "fe80::/64", "fe80::"},
      {"::1", "::/64", "::"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(FairShareName(*IpAddress::Parse(c.address)), c.share) << c.address;
    EXPECT_EQ(FairNetwork(*IpAddress::Parse(c.address)).ToString(), c.network) << c.address;
  }
}

TEST(FairShare, IsTheSameForAllAddressesOfAClient) {
  const auto share = [](const char* address) { return FairShare(*IpAddress::Parse(address)); };
  EXPECT_EQ(share("2001:db8::1"), share("2001:db8::ffff:0:0:2"));
  EXPECT_NE(share("2001:db8::1"), share("2001:db8:0:1::1"));
  EXPECT_NE(share("10.0.0.1"), share("10.0.0.2"));
}

// The form in which an IPv6 socket reports it.
TEST(FairShare, OfAMappedAddressInBytesIsTheIpv4Address) {
  const std::string mapped = std::string(10, '\0') + "\xff\xff" + std::string("\x0a\x01\x02\x03");
  EXPECT_EQ(FairShareName(*IpAddress::FromBytes(mapped)), "10.1.2.3");
  EXPECT_EQ(FairNetwork(*IpAddress::FromBytes(mapped)).ToString(), "10.1.2.0");
}

}  // namespace
}  // namespace muster
