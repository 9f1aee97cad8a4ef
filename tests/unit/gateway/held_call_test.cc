#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "worker_agent/gateway/chassis/grpc_server.h"

namespace muster::agent {
namespace {

class HeldCallTest : public testing::Test {
 protected:
  SharedCall NewCall() {
    return std::make_shared<HeldCall>([this](const absl::StatusOr<std::string>& reply, const std::string& details) {
      trace_.push_back((reply.ok() ? *reply : std::string(reply.status().message())) + "|" + details);
    });
  }

  std::vector<std::string> trace_;
};

TEST_F(HeldCallTest, IsToldOnce) {
  const SharedCall call = NewCall();
  call->Complete("one");
  call->Complete(absl::InternalError("two"), "details");
  call->GiveUp();
  EXPECT_EQ(trace_, std::vector<std::string>{"one|"});
}

TEST_F(HeldCallTest, ItsHolderIsNotifiedFirstThatItIsGivenUp) {
  const SharedCall call = NewCall();
  call->WhenGivenUp([this] { trace_.emplace_back("given up"); });
  call->GiveUp();
  call->GiveUp();
  EXPECT_EQ(trace_, (std::vector<std::string>{"given up", "the caller has disconnected|"}));
}

TEST_F(HeldCallTest, OneThatWasToldIsNotGivenUpAndHoldsNothing) {
  const SharedCall call = NewCall();
  const auto held = std::make_shared<int>(0);
  call->WhenGivenUp([this, held, call] { trace_.emplace_back("given up"); });
  EXPECT_EQ(held.use_count(), 2);
  call->Complete(absl::InternalError("no"), "details");
  EXPECT_EQ(held.use_count(), 1);
  call->WhenGivenUp([this, held, call] { trace_.emplace_back("given up"); });
  EXPECT_EQ(held.use_count(), 1);
  call->GiveUp();
  EXPECT_EQ(trace_, std::vector<std::string>{"no|details"});
}

}  // namespace
}  // namespace muster::agent
