#include "worker_agent/gateway/torch_store/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "common/base/unique_fd.h"
#include "common/tcp_server/socket_address.h"

namespace muster::agent {
namespace {

using testing::HasSubstr;

class TorchStoreGatewayTest : public testing::Test {
 protected:
  TorchStoreGatewayTest() {
    auto peers = std::make_shared<v1::PeerList>();
    peers->add_nodes()->set_node_id("zero");
    peers->add_nodes()->set_node_id("one");
    round_.run = 1;
    round_.round = 1;
    round_.node_id = "zero";
    round_.peers = peers;
    round_.assignment.set_role(v1::ROLE_WORKER);
    round_.assignment.set_worker_num(2);
    round_.assignment.set_has_torch_store(true);
    round_.assignment.set_master_address("127.0.0.1");
    round_.assignment.add_slots()->set_rank(0);
    options_.is_relay_asked = true;
  }

  GatewayRound round_;
  TorchStoreOptions options_;
};

TEST_F(TorchStoreGatewayTest, OpensNoPlainPortWhereThatIsRefused) {
  options_.is_plain_port_refused = true;
  TorchStoreGateway gateway(options_, Clock::System());
  EXPECT_THAT(gateway.Begin(round_).message(), HasSubstr("--torch_store_relay=false"));
  EXPECT_TRUE(gateway.IsNeeded(round_));
}

TEST_F(TorchStoreGatewayTest, APlainPortIsServedWhereItIsNotRefused) {
  TorchStoreGateway gateway(options_, Clock::System());
  EXPECT_TRUE(gateway.Begin(round_).ok());
  EXPECT_FALSE(gateway.IsNeeded(round_));
}

TEST_F(TorchStoreGatewayTest, AloneInItsRoundItNeedsNoRelays) {
  auto alone = std::make_shared<v1::PeerList>();
  alone->add_nodes()->set_node_id("zero");
  round_.peers = alone;
  options_.is_plain_port_refused = true;
  EXPECT_TRUE(TorchStoreGateway(options_, Clock::System()).Begin(round_).ok());
}

// Acts as a machine where another agent of the job already has the port.
class PinnedPort : public TorchStoreGatewayTest {
 protected:
  PinnedPort() {
    taken_ = *ListenOn(*IpAddress::Parse("127.0.0.1"), 0, 1, "a test");
    options_.wanted_port = LocalEnd(taken_.get())->port;
    round_.node_id = "one";
    round_.assignment.set_torch_store_node("zero");
    round_.assignment.set_master_address("192.0.2.1");
    round_.assignment.mutable_slots(0)->set_rank(1);
  }
  UniqueFd taken_;
};

TEST_F(PinnedPort, GivesWayToAnyOther) {
  TorchStoreGateway gateway(options_, Clock::System());
  ASSERT_TRUE(gateway.Begin(round_).ok());
  EnvironmentInput input;
  gateway.AddTo(input);
  EXPECT_NE(input.local_store_port, 0U);
  EXPECT_NE(input.local_store_port, options_.wanted_port);
}

TEST_F(PinnedPort, IsAFailureWhereTheScriptNamesItToo) {
  options_.script_ports = {options_.wanted_port};
  EXPECT_FALSE(TorchStoreGateway(options_, Clock::System()).Begin(round_).ok());
}

}  // namespace
}  // namespace muster::agent
