#include "worker_agent/launch/hccl_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SocketPorts, AreParsedAsHcclDoes) {
  struct Case {
    const char* value;
    PortChoice choice;
    const char* shown;
  };
  const Case cases[] = {
      {"", PortChoice::kNotSet, ""},
      {"  ", PortChoice::kNotSet, ""},
      {"auto", PortChoice::kAuto, ""},
      {"61000-61050", PortChoice::kRanges, "61000-61050"},
      {"61000", PortChoice::kRanges, "61000"},
      {"61000,61050-61100,61200-61210", PortChoice::kRanges, "61000,61050-61100,61200-61210"},
      {" 61050-61060, 61000 ", PortChoice::kRanges, "61050-61060,61000"},
      {"1-65535", PortChoice::kRanges, "1-65535"},
  };
  for (const Case& c : cases) {
    const auto ports = ParseSocketPorts(kHcclHostPortsVariable, c.value);
    ASSERT_TRUE(ports.ok()) << c.value << ": " << ports.status();
    EXPECT_EQ(ports->choice, c.choice) << c.value;
    EXPECT_EQ(ShowPorts(ports->ranges), c.shown) << c.value;
  }
}

TEST(SocketPorts, ThatHcclWouldRefuseAreNamedWithWhatItTakes) {
  for (const char* value : {"61050-61000",
                            "0",
                            "0-10",
                            "65536",
                            "61000-65536",
                            "many",
                            "AUTO",
                            " auto",
                            "auto,61000",
                            "61000-",
                            "-61000",
                            "61000,",
                            ",61000",
                            "61000-61010-61020",
                            "61000-61050,61050-61060",
                            "61000,61000",
                            "61010,61000-61020",
                            "+61000",
                            "61000.5",
                            "61000\t"}) {
    const auto ports = ParseSocketPorts(kHcclDevicePortsVariable, value);
    ASSERT_FALSE(ports.ok()) << value;
    EXPECT_THAT(std::string(ports.status().message()),
                AllOf(HasSubstr("HCCL_NPU_SOCKET_PORT_RANGE is \""), HasSubstr("auto, or ports from 1 to 65535"),
                      HasSubstr("correct it or leave it out")))
        << value;
  }
  EXPECT_THAT(std::string(ParseSocketPorts(kHcclHostPortsVariable, "61050-61000").status().message()),
              HasSubstr("HCCL_HOST_SOCKET_PORT_RANGE is \"61050-61000\""));
}

TEST(SocketPorts, OfEnvHavePrecedence) {
  const char* name = kHcclHostPortsVariable;
  const std::map<std::string, std::string> environment = {{name, "61000"}};
  EXPECT_EQ(FindSocketPorts(name, {}, {})->choice, PortChoice::kNotSet);
  EXPECT_THAT(FindSocketPorts(name, {}, environment)->ranges, ElementsAre(NumberRange{61000, 61000}));
  EXPECT_EQ(FindSocketPorts(name, {{name, "auto"}}, environment)->choice, PortChoice::kAuto);
  EXPECT_EQ(FindSocketPorts(name, {{name, ""}}, environment)->choice, PortChoice::kNotSet);
  EXPECT_EQ(FindSocketPorts(name, {{name, "6{local_rank}000"}}, environment)->choice, PortChoice::kPerProcess);
  EXPECT_FALSE(FindSocketPorts(name, {}, {{name, "6{local_rank}000"}}).ok()) << "only --env has placeholders";
}

TEST(HcclPorts, TheHostsRangeReplacesTheBasePort) {
  HcclPorts ports;
  EXPECT_EQ(ShowPorts(ports.HostRanges()), "60000-60015");
  EXPECT_STREQ(ports.HostVariable(), "HCCL_IF_BASE_PORT");
  ports.base_port = 50000;
  ports.device = *ParseSocketPorts(kHcclDevicePortsVariable, "61000");
  EXPECT_EQ(ShowPorts(ports.HostRanges()), "50000-50015");
  ports.host = *ParseSocketPorts(kHcclHostPortsVariable, "61000,61010-61020");
  EXPECT_EQ(ShowPorts(ports.HostRanges()), "61000,61010-61020");
  EXPECT_STREQ(ports.HostVariable(), "HCCL_HOST_SOCKET_PORT_RANGE");
  ports.host = *ParseSocketPorts(kHcclHostPortsVariable, "auto");
  EXPECT_THAT(ports.HostRanges(), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
