// Tests the rows of the table in collective_interface.cc.
#include "worker_agent/launch/environment/collective_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

IpAddress Address(const std::string& text) { return *IpAddress::Parse(text); }

struct Choice {
  std::string name;
  std::string warning;
};

// "eth0 10.0.0.1", …, in the order of getifaddrs.
Choice Choose(const std::vector<std::pair<std::string, std::string>>& interfaces, const std::optional<Names>& own_name,
              const std::string& node) {
  std::vector<InterfaceAddress> list{{"lo", Address("127.0.0.1")}};
  for (const auto& [name, address] : interfaces) list.push_back({name, Address(address)});
  std::optional<std::vector<IpAddress>> names;
  if (own_name) {
    names.emplace();
    for (const std::string& text : *own_name) names->push_back(Address(text));
  }
  const CollectiveInterface chosen = ChooseCollectiveInterface(list, names, Address(node));
  return {chosen.name, chosen.warning};
}

void ExpectNothing(const Choice& choice) {
  EXPECT_EQ(choice.name, "");
  EXPECT_EQ(choice.warning, "");
}

TEST(ChooseCollectiveInterface, LoopbackIsLeftAlone) {
  ExpectNothing(Choose({{"eth0", "10.0.0.1"}}, Names{"10.0.0.1"}, "127.0.0.1"));
}

TEST(ChooseCollectiveInterface, AHostNameThatLeadsThereIsEnough) {
  ExpectNothing(Choose({{"eth0", "10.0.0.1"}}, Names{"10.0.0.1", "fd00::1"}, "10.0.0.1"));
  ExpectNothing(Choose({{"eth0", "10.0.0.8"}, {"eth0", "10.0.0.1"}}, Names{"192.0.2.1", "10.0.0.1"}, "10.0.0.1"));
}

TEST(ChooseCollectiveInterface, TheFirstAddressUnderTheName) {
  EXPECT_EQ(Choose({{"eth0", "10.0.0.1"}, {"eth0", "fe80::1"}}, Names{"127.0.1.1", "10.0.0.1"}, "10.0.0.1").name,
            "eth0");
  EXPECT_EQ(Choose({{"eth0", "10.0.0.1"}, {"eth1", "10.1.0.1"}}, Names{"10.0.0.1"}, "10.1.0.1").name, "eth1");
  EXPECT_EQ(Choose({{"eth0", "10.0.0.1"}}, std::nullopt, "10.0.0.1").name, "eth0") << "the name service is away";
  EXPECT_EQ(Choose({{"eth0", "10.0.0.1"}}, Names{}, "10.0.0.1").name, "eth0");
}

TEST(ChooseCollectiveInterface, TheSecondAddressOfAnInterfaceIsWarnedOf) {
  const Choice choice = Choose({{"eth0", "10.0.0.8"}, {"eth0", "10.0.0.1"}}, Names{"127.0.1.1"}, "10.0.0.1");
  EXPECT_THAT(choice.name, IsEmpty());
  EXPECT_THAT(choice.warning,
              AllOf(HasSubstr("10.0.0.1 is not the first one of interface eth0"), HasSubstr("--worker_ip 10.0.0.8"),
                    HasSubstr("127.0.1.1, the address of this host's own name")));
}

TEST(ChooseCollectiveInterface, ALabelIsANameOfItsOwn) {
  const std::vector<std::pair<std::string, std::string>> labelled = {
      {"eth0", "10.0.0.8"}, {"eth0:1", "10.0.0.1"}, {"eth0", "fe80::1"}};
  EXPECT_EQ(Choose(labelled, Names{"127.0.1.1"}, "10.0.0.1").name, "eth0:1");
  // All IPv4 addresses have labels; eth0 itself has only fe80::1.
  EXPECT_EQ(Choose({{"eth0:1", "10.0.0.1"}, {"eth0", "fe80::1"}}, Names{"127.0.1.1"}, "10.0.0.1").name, "eth0:1");
}

TEST(ChooseCollectiveInterface, V6Only) {
  EXPECT_EQ(Choose({{"eth0", "fd00::1"}, {"eth0", "fe80::1"}}, Names{"::1"}, "fd00::1").name, "eth0");
  EXPECT_THAT(Choose({{"eth0", "10.0.0.1"}, {"eth0", "fd00::1"}}, Names{"::1"}, "fd00::1").warning,
              HasSubstr("--worker_ip 10.0.0.1"));
}

TEST(ChooseCollectiveInterface, TheSameAddressUnderASecondName) {
  EXPECT_EQ(Choose({{"a", "10.0.0.8"}, {"a", "10.0.0.1"}, {"b", "10.0.0.1"}}, Names{}, "10.0.0.1").name, "b");
}

TEST(ChooseCollectiveInterface, AnAddressOnNoInterfaceIsWarnedOf) {
  const Choice choice = Choose({{"eth0", "10.0.0.1"}}, Names{"10.0.0.1"}, "192.0.2.7");
  EXPECT_THAT(choice.name, IsEmpty());
  EXPECT_THAT(choice.warning, AllOf(HasSubstr("192.0.2.7 is on no interface"), HasSubstr("--worker_ip"),
                                    HasSubstr("GLOO_SOCKET_IFNAME")));
}

}  // namespace
}  // namespace muster::agent
