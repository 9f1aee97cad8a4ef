#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker_agent/gateway/torch_store/gateway.h"

namespace muster::agent {
namespace {

using testing::HasSubstr;
using torch_store::LinkHello;

IpAddress Numeric(const std::string& text) { return *IpAddress::Parse(text); }

class LinkRulesTest : public testing::Test {
 protected:
  LinkRulesTest() {
    peers_.set_job_id("job");
    peers_.set_run(7);
    peers_.set_round(2);
    Add("zero", "10.0.0.1", 0);
    Add("one", "10.0.0.2", 1)->add_other_addresses(Numeric("192.168.7.2").bytes());
    Add("same", "10.0.0.1", 0);
    hello_.job = "job";
    hello_.run = 7;
    hello_.round = 2;
    hello_.node = "one";
  }
  v1::PeerNode* Add(const std::string& id, const std::string& address, uint32_t machine) {
    v1::PeerNode* const node = peers_.add_nodes();
    node->set_node_id(id);
    node->set_address(Numeric(address).bytes());
    node->set_machine(machine);
    return node;
  }
  std::string WhyNot(const std::string& from, bool is_here = false) const {
    return LinkRules(peers_, *ParseNetworks("172.16.0.0/12")).WhyNot(hello_, Numeric(from), is_here);
  }

  v1::PeerList peers_;
  LinkHello hello_;
};

TEST_F(LinkRulesTest, AnAgentComesFromAnAddressOfItsOwn) {
  EXPECT_EQ(WhyNot("10.0.0.2"), "");
  EXPECT_EQ(WhyNot("192.168.7.2"), "");
  EXPECT_EQ(WhyNot("172.17.0.1"), "");
  EXPECT_THAT(WhyNot("10.0.0.1"), HasSubstr("one has not reported that address"));
  EXPECT_THAT(WhyNot("10.0.0.9"), HasSubstr("--torch_store_peers=10.0.0.9"));
}

TEST_F(LinkRulesTest, CountsTheRanksOfANode) {
  peers_.mutable_nodes(1)->add_ring_ports(1);
  peers_.mutable_nodes(1)->add_ring_ports(2);
  const LinkRules rules(peers_, {});
  EXPECT_EQ(rules.RanksOf("one"), 2U);
  EXPECT_EQ(rules.RanksOf("two"), 0U);
}

TEST_F(LinkRulesTest, FromTheStoresMachineOnlyItsOwnNodes) {
  EXPECT_NE(WhyNot("127.0.0.1", true), "");
  hello_.node = "same";
  EXPECT_EQ(WhyNot("127.0.0.1", true), "");
}

TEST_F(LinkRulesTest, AnotherRoundsAgentIsTurnedAway) {
  hello_.round = 1;
  EXPECT_THAT(WhyNot("10.0.0.2"), HasSubstr("another round"));
  hello_.round = 2;
  hello_.job = "other";
  EXPECT_THAT(WhyNot("10.0.0.2"), HasSubstr("another round"));
  hello_.job = "job";
  hello_.node = "two\n";
  EXPECT_THAT(WhyNot("10.0.0.2"), testing::AllOf(HasSubstr("no node of this round"), testing::Not(HasSubstr("\n"))));
}

TEST_F(LinkRulesTest, TheCertificateIsTheNodes) {
  const auto named = [](const std::string& uri) { return std::optional(ParsePeerName(uri).name); };
  EXPECT_EQ(WhyNotNode(named("spiffe://site/muster/job/node/one"), "job", "one"), "");
  EXPECT_EQ(WhyNotNode(named("spiffe://site/muster/*/node/*"), "job", "one"), "");
  EXPECT_EQ(WhyNotNode(std::nullopt, "job", "one"), "");
  EXPECT_THAT(WhyNotNode(named("spiffe://site/muster/job/node/two"), "job", "one"), HasSubstr("which is not one"));
  EXPECT_NE(WhyNotNode(named("spiffe://site/muster/other/node/one"), "job", "one"), "");
  EXPECT_NE(WhyNotNode(named("spiffe://site/muster/job/scheduler"), "job", "one"), "");
}

}  // namespace
}  // namespace muster::agent
