#include "worker_agent/platform/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace muster::agent {
namespace {

using testing::HasSubstr;

TEST(HostList, Expands) {
  const struct {
    std::string list, hosts;
  } cases[] = {
      {"n1", "n1"},
      {"n1,m2", "n1 m2"},
      {"n[1-3,07-09],m2", "n1 n2 n3 n07 n08 n09 m2"},
      {"r[1-2]n[1-2]-ib", "r1n1-ib r1n2-ib r2n1-ib r2n2-ib"},
      {"n[9-10]", "n9 n10"},
      {"n[098-101]", "n098 n099 n100 n101"},
      {"n[5]", "n5"},
      {"node-a.example.org", "node-a.example.org"},
  };
  for (const auto& c : cases) {
    const auto hosts = ExpandHostList(c.list);
    ASSERT_TRUE(hosts.ok()) << c.list << ": " << hosts.status();
    EXPECT_EQ(absl::StrJoin(*hosts, " "), c.hosts) << c.list;
  }
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* list : {"", ",", "a,,b", "n[", "n[1-3", "n[]", "n[3-1]", "n[a]", "n[1-]", "n[-1]", "n]", "n[1]]",
                           "n[1-2-3]", "n[1234567890]", "n[1-2],"}) {
    EXPECT_FALSE(ExpandHostList(list).ok()) << list;
  }
}

TEST(HostList, IsBounded) {
  EXPECT_EQ(ExpandHostList("n[1-65536]")->size(), kMaxHosts);
  for (const char* list :
       {"n[1-65537]", "n[1-999999999]", "a[1-999]b[1-999]c[1-999]", "n[1-65536],m", "n[1-40000,1-40000]"}) {
    EXPECT_THAT(std::string(ExpandHostList(list).status().message()), HasSubstr("more than 65536 hosts")) << list;
  }
  EXPECT_FALSE(ExpandHostList(std::string(1000, 'n')).ok());
}

}  // namespace
}  // namespace muster::agent
