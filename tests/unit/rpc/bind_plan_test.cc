#include "scheduler/ingress/bind_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;

IpAddress Ip(const std::string& text) { return *IpAddress::Parse(text); }

// This machine has 10.0.0.1, 2001:db8::1 and the loopback.
NameService Names() {
  return NameService{[](const std::string& host) -> absl::StatusOr<std::vector<IpAddress>> {
                       if (const auto numeric = IpAddress::Parse(host)) return std::vector<IpAddress>{*numeric};
                       if (host == "localhost") return std::vector<IpAddress>{Ip("::1"), Ip("127.0.0.1")};
                       if (host == "node1")
                         return std::vector<IpAddress>{Ip("10.0.0.1"), Ip("10.0.0.1"), Ip("2001:db8::1")};
                       if (host == "debian") return std::vector<IpAddress>{Ip("127.0.1.1")};
                       if (host == "service") return std::vector<IpAddress>{Ip("10.9.9.9")};
                       return absl::NotFoundError("host " + host + " does not resolve");
                     },
                     [](const IpAddress& address) {
                       return address.is_loopback() || address == Ip("10.0.0.1") || address == Ip("2001:db8::1");
                     }};
}

std::vector<std::string> Texts(const BindPlan& plan) {
  std::vector<std::string> texts;
  for (const IpAddress& address : plan.addresses) texts.push_back(address.ToString());
  return texts;
}

TEST(BindPlan, TheSchedulersHostWhereItIsLocal) {
  EXPECT_EQ(Texts(*PlanBind("127.0.0.1", "", Names())), std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(Texts(*PlanBind("localhost", "", Names())), (std::vector<std::string>{"::1", "127.0.0.1"}));
  const BindPlan node1 = *PlanBind("node1", "", Names());
  EXPECT_EQ(Texts(node1), (std::vector<std::string>{"10.0.0.1", "2001:db8::1"}));
  EXPECT_EQ(node1.notice, "");
  EXPECT_FALSE(node1.is_loopback_only());
  EXPECT_TRUE(PlanBind("localhost", "", Names())->is_loopback_only());
}

TEST(BindPlan, ElseAllAddressesSayingSo) {
  for (const char* host : {"service", "nowhere", "10.9.9.9", "debian"}) {
    const auto plan = PlanBind(host, "", Names());
    ASSERT_TRUE(plan.ok()) << host;
    EXPECT_TRUE(plan->addresses.empty()) << host;
    EXPECT_THAT(plan->notice, HasSubstr("listening on all addresses")) << host;
    EXPECT_THAT(plan->notice, HasSubstr(host)) << host;
    EXPECT_FALSE(plan->is_loopback_only()) << host;
  }
  EXPECT_THAT(PlanBind("debian", "", Names())->notice, HasSubstr("127.0.1.1"));
}

TEST(BindPlan, TheListenAddressDecides) {
  EXPECT_EQ(Texts(*PlanBind("service", "10.0.0.1", Names())), std::vector<std::string>{"10.0.0.1"});
  for (const char* all : {"*", "::", "[::]"}) {
    const auto plan = PlanBind("127.0.0.1", all, Names());
    ASSERT_TRUE(plan.ok()) << all;
    EXPECT_TRUE(plan->addresses.empty()) << all;
    EXPECT_EQ(plan->notice, "") << all;
  }
  EXPECT_EQ(Texts(*PlanBind("node1", "0.0.0.0", Names())), std::vector<std::string>{"0.0.0.0"});
}

TEST(BindPlan, EachPortGoesTheSameWay) {
  const auto debian = PlanListen("--http_address", "debian", Names());
  ASSERT_TRUE(debian.ok()) << debian.status();
  EXPECT_TRUE(debian->addresses.empty());
  EXPECT_FALSE(debian->is_loopback_only());
  EXPECT_THAT(debian->notice, HasSubstr("--http_address \"debian\" means 127.0.1.1 here"));
  EXPECT_TRUE(PlanBind("node1", "debian", Names())->addresses.empty());
  EXPECT_EQ(Texts(*PlanListen("--http_address", "127.0.0.1", Names())), std::vector<std::string>{"127.0.0.1"});
  EXPECT_TRUE(PlanListen("--http_address", "localhost", Names())->is_loopback_only());
  EXPECT_THAT(std::string(PlanListen("--http_address", "service", Names()).status().message()),
              HasSubstr("--http_address \"service\" is no address of this machine"));
  EXPECT_THAT(std::string(PlanListen("--http_address", "nowhere", Names()).status().message()),
              HasSubstr("--http_address: host nowhere does not resolve"));
}

TEST(ListenAsPlanned, AllAddressesAreIpv6AndIpv4WhereThereIsNone) {
  std::vector<std::string> asked;
  const auto listen = [&](bool has_v6) {
    return [&asked, has_v6](const IpAddress& address, uint16_t port) -> absl::StatusOr<uint16_t> {
      asked.push_back(JoinHostPort(address.ToString(), port));
      if (address.is_v6() && !has_v6) return absl::UnavailableError("no IPv6");
      return port == 0 ? 4711 : port;
    };
  };
  EXPECT_EQ(*ListenAsPlanned(BindPlan{}, 8118, listen(true)), 8118);
  EXPECT_EQ(*ListenAsPlanned(BindPlan{}, 8118, listen(false)), 8118);
  EXPECT_EQ(*ListenAsPlanned(BindPlan{{Ip("10.0.0.1"), Ip("10.0.0.2")}, ""}, 0, listen(true)), 4711);
  EXPECT_EQ(asked, (std::vector<std::string>{"[::]:8118", "[::]:8118", "0.0.0.0:8118", "10.0.0.1:0", "10.0.0.2:4711"}));
  EXPECT_FALSE(ListenAsPlanned(BindPlan{{Ip("::1")}, ""}, 0, listen(false)).ok());
}

TEST(BindPlan, AListenAddressOfAnotherMachineIsAnError) {
  const auto plan = PlanBind("127.0.0.1", "10.9.9.9", Names());
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("--listen_address \"10.9.9.9\""));
  EXPECT_FALSE(PlanBind("127.0.0.1", "nowhere", Names()).ok());
}

}  // namespace
}  // namespace muster::scheduler
