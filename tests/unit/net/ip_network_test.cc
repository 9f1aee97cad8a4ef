#include "common/net/ip_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

bool Holds(const std::string& networks, const std::string& address) {
  const auto parsed = ParseNetworks(networks);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  for (const IpNetwork& network : *parsed) {
    if (network.Contains(*IpAddress::Parse(address))) return true;
  }
  return false;
}

TEST(IpNetwork, SharesTheFirstBits) {
  EXPECT_TRUE(Holds("10.0.0.0/8", "10.255.1.2"));
  EXPECT_FALSE(Holds("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(Holds("10.1.128.0/17", "10.1.200.0"));
  EXPECT_FALSE(Holds("10.1.128.0/17", "10.1.127.255"));
  EXPECT_TRUE(Holds("0.0.0.0/0", "1.2.3.4"));
  EXPECT_TRUE(Holds("fd00::/8", "fdff::1"));
  EXPECT_FALSE(Holds("fd00::/8", "fe00::1"));
}

TEST(IpNetwork, AFamilyIsNeverTheOther) {
  EXPECT_FALSE(Holds("0.0.0.0/0", "::1"));
  EXPECT_FALSE(Holds("::/0", "1.2.3.4"));
}

TEST(IpNetwork, AnAddressAloneIsANetworkOfOne) {
  EXPECT_TRUE(Holds("192.168.1.5, 10.0.0.1", "10.0.0.1"));
  EXPECT_FALSE(Holds("192.168.1.5", "192.168.1.4"));
}

TEST(IpNetwork, NothingIsNoNetwork) { EXPECT_TRUE(ParseNetworks("")->empty()); }

TEST(IpNetwork, WhatIsWrongIsNamed) {
  for (const char* const text : {"node1", "10.0.0.0/33", "10.0.0.0/x", "10.0.0/8", "::/129", "10.0.0.1/-1"}) {
    const auto parsed = ParseNetworks(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), testing::HasSubstr(text));
  }
}

}  // namespace
}  // namespace muster
