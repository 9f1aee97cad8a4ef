#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/show/looks.h"

namespace muster {
namespace {

using v1::HostFinding;

void AddFinding(v1::NodeStatus& node, const std::string& check, HostFinding::Level level, const std::string& text,
                const std::string& remedy = "") {
  HostFinding& finding = *node.add_host_findings();
  finding.set_check(check);
  finding.set_level(level);
  finding.set_text(text);
  finding.set_remedy(remedy);
}

v1::NodeStatus& AddNode(NodesOfJob& job, const std::string& id, const std::string& mtu) {
  v1::NodeStatus& node = *job.reply.add_nodes();
  node.set_node_id(id);
  node.set_host_name("host-" + id);
  node.set_machine_id(id);
  v1::HostFact& fact = *node.add_host_facts();
  fact.set_name("mtu");
  fact.set_value(mtu);
  AddFinding(node, "clock", HostFinding::OK, "set");
  return node;
}

NodesOfJob TwoNodes(const std::string& second_mtu) {
  NodesOfJob job;
  job.job_id = "train";
  job.reply.set_run(2);
  AddNode(job, "a", "1500");
  AddNode(job, "b", second_mtu);
  job.reply.add_nodes()->set_node_id("gone");
  return job;
}

TEST(RenderHosts, WellHostsAreOneTable) {
  EXPECT_EQ(RenderHosts({TwoNodes("1500")}),
            "NODE  HOST    clock\n"
            "a     host-a  ok\n"
            "b     host-b  ok\n"
            "between nodes: ok: same_mtu\n");
  EXPECT_FALSE(HasHostErrors({TwoNodes("1500")}));
  EXPECT_EQ(RenderHosts({}), "no job yet\n");
}

TEST(RenderHosts, WhatIsWrongFollowsLineByLine) {
  NodesOfJob job = TwoNodes("9000");
  AddFinding(*job.reply.mutable_nodes(1), "memory", HostFinding::ERROR, "1 MiB are free\n", "end what uses it");
  AddFinding(*job.reply.mutable_nodes(0), "memory", HostFinding::NOT_CHECKED, "can't be read");
  v1::NodeStatus& plain = *job.reply.add_nodes();
  plain.set_node_id("c");
  plain.set_host_name("host-c");
  plain.set_machine_id("c");
  EXPECT_EQ(RenderHosts({job}),
            "NODE  HOST    clock  memory\n"
            "a     host-a  ok     ?\n"
            "b     host-b  ok     error\n"
            "c     host-c  -      -\n"
            "without --preflight host, so not checked: c\n"
            "\n"
            "node b: error: memory: 1 MiB are free\\n; end what uses it\n"
            "between nodes: warning: same_mtu: the MTU is 9000 on b, but 1500 on a, and should be equal on all nodes; "
            "ip link set NAME mtu N, the same on all nodes and switches\n");
  EXPECT_TRUE(HasHostErrors({job}));
}

TEST(HostsJson, HasFactsChecksAndDifferences) {
  const auto json = nlohmann::json::parse(HostsJson({TwoNodes("9000")}));
  const auto& job = json["jobs"][0];
  EXPECT_EQ(job["job_id"], "train");
  EXPECT_EQ(job["run"], 2);
  ASSERT_EQ(job["nodes"].size(), 2u);
  EXPECT_EQ(job["nodes"][1]["facts"]["mtu"], "9000");
  EXPECT_EQ(job["nodes"][1]["checks"][0]["level"], "ok");
  EXPECT_EQ(job["between_nodes"][0]["check"], "same_mtu");
  EXPECT_EQ(job["between_nodes"][0]["level"], "warning");
  EXPECT_EQ(job["between_nodes"][0]["node_ids"][0], "b");
}

}  // namespace
}  // namespace muster
