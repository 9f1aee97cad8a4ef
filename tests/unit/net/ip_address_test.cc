#include "common/net/ip_address.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/net/address_rules.h"

namespace muster {
namespace {

TEST(IpAddress, ParsesAndPrints) {
  const struct {
    std::string text, printed;
  } cases[] = {
      {"10.0.0.1", "10.0.0.1"},
      {"::1", "::1"},
      {"[::1]", "::1"},
      {"fe80::1%eth0", "fe80::1"},
      {"::ffff:10.1.2.3", "10.1.2.3"},
      {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
  };
  for (const auto& c : cases) {
    const auto address = IpAddress::Parse(c.text);
    ASSERT_TRUE(address) << c.text;
    EXPECT_EQ(address->ToString(), c.printed) << c.text;
  }
}

TEST(IpAddress, RefusesWhatIsNoNumericAddress) {
  for (const std::string text : {"", "node1", "10.0.0", "10.0.0.256", "10.0.0.1:80", "[::1", ":::1", "010.0.0.1 "}) {
    EXPECT_FALSE(IpAddress::Parse(text)) << text;
  }
  EXPECT_FALSE(IpAddress::FromBytes("abc"));
}

TEST(IpAddress, KnowsLoopbackAndAny) {
  EXPECT_TRUE(IpAddress::Parse("127.3.2.1")->is_loopback());
  EXPECT_TRUE(IpAddress::Parse("::1")->is_loopback());
  EXPECT_FALSE(IpAddress::Parse("10.0.0.1")->is_loopback());
  EXPECT_TRUE(IpAddress::Parse("0.0.0.0")->is_any());
  EXPECT_TRUE(IpAddress::Parse("::")->is_any());
  EXPECT_FALSE(IpAddress::Parse("0.0.0.1")->is_any());
}

TEST(IpAddress, KnowsLinkLocal) {
  for (const char* text : {"fe80::1", "fe80::1%eth0", "[febf::1%2]"}) {
    EXPECT_TRUE(IsLinkLocal(*IpAddress::Parse(text))) << text;
  }
  for (const char* text : {"fec0::1", "fe7f::1", "fd00::1", "::1", "::", "169.254.0.1", "254.128.0.1"}) {
    EXPECT_FALSE(IsLinkLocal(*IpAddress::Parse(text))) << text;
  }
}

TEST(IpAddress, GetsBracketsBeforeAPort) {
  EXPECT_EQ(BracketIpv6("fd00::1"), "[fd00::1]");
  for (const char* text : {"[fd00::1]", "10.0.0.1", "node1", ""}) EXPECT_EQ(BracketIpv6(text), text);
}

TEST(IpAddress, OrdersAsNumbersAndIpv4First) {
  std::vector<IpAddress> addresses;
  for (const char* text : {"::1", "10.0.0.10", "200.0.0.1", "10.0.0.9", "9.255.0.0"}) {
    addresses.push_back(*IpAddress::Parse(text));
  }
  std::sort(addresses.begin(), addresses.end());
  std::vector<std::string> printed;
  for (const IpAddress& address : addresses) printed.push_back(address.ToString());
  EXPECT_EQ(printed, (std::vector<std::string>{"9.255.0.0", "10.0.0.9", "10.0.0.10", "200.0.0.1", "::1"}));
}

TEST(JoinHostPort, BracketsIpv6) {
  EXPECT_EQ(JoinHostPort("10.0.0.1", 8118), "10.0.0.1:8118");
  EXPECT_EQ(JoinHostPort("::1", 8118), "[::1]:8118");
  EXPECT_EQ(JoinHostPort("[::1]", 8118), "[::1]:8118");
  EXPECT_EQ(JoinHostPort("node1", 8118), "node1:8118");
}

}  // namespace
}  // namespace muster
