#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker_agent/gateway/torch_store/gateway.h"

namespace muster::agent {
namespace {

IpAddress Ip(const std::string& text) { return *IpAddress::Parse(text); }

TEST(AllowedPeers, AllAddressesOfTheRoundsMachines) {
  v1::PeerList peers;
  v1::PeerNode* const one = peers.add_nodes();
  one->set_address(Ip("10.0.0.1").bytes());
  one->add_other_addresses(Ip("192.168.7.1").bytes());
  one->add_other_addresses(Ip("fd00::1").bytes());
  one->add_other_addresses("neither");  // an agent of another version may send anything
  peers.add_nodes()->set_address(Ip("10.0.0.2").bytes());
  const AllowedPeers allowed(peers, {});
  for (const char* const text : {"10.0.0.1", "10.0.0.2", "192.168.7.1", "fd00::1"}) {
    EXPECT_TRUE(allowed.Contains(Ip(text))) << text;
  }
  for (const char* const text : {"10.0.0.3", "192.168.7.2", "fd00::2", "127.0.0.1"}) {
    EXPECT_FALSE(allowed.Contains(Ip(text))) << text;
  }
}

TEST(AllowedPeers, AndWhatTheUserAllows) {
  const AllowedPeers allowed({}, *ParseNetworks("172.16.0.0/12, fd00::/8"));
  EXPECT_TRUE(allowed.Contains(Ip("172.31.1.2")));
  EXPECT_TRUE(allowed.Contains(Ip("fdab::5")));
  EXPECT_FALSE(allowed.Contains(Ip("172.32.0.1")));
}

TEST(AllowedPeers, ARefusalNamesTheRemedy) {
  EXPECT_THAT(WhyNotInRound(Ip("10.9.9.9")), testing::HasSubstr("--torch_store_peers=10.9.9.9"));
}

}  // namespace
}  // namespace muster::agent
