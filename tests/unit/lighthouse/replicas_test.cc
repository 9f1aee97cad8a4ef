#include "worker_agent/gateway/lighthouse/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/limits.h"
#include "worker_agent/gateway/lighthouse/messages.pb.h"

namespace muster::lighthouse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReplicasTest : public ::testing::Test {
 protected:
  absl::Status Beat(const std::string& id, std::optional<uint32_t> slot = 0) {
    HeartbeatRequest request;
    request.set_replica_id(id);
    return replicas_.Beat(slot, request.SerializeAsString(), now_);
  }
  static std::string Request(const std::string& id, int64_t commit_failures = 0) {
    QuorumMember member;
    member.set_replica_id(id);
    member.set_commit_failures(commit_failures);
    QuorumRequest request;
    // A field of a newer version, unknown here.
    request.set_requester(member.SerializeAsString() + std::string("\x4a\x02hi", 4));
    return request.SerializeAsString();
  }
  uint64_t Ask(const std::string& id, uint32_t slot = 0) {
    const auto call = replicas_.Ask(
        slot, Request(id),
        [this, id](absl::StatusOr<std::string> reply) { answers_.emplace_back(id, std::move(reply)); }, now_);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.value_or(0);
  }
  v1::ReplicasReport Report() {
    auto report = replicas_.NextReport(now_);
    EXPECT_TRUE(report.has_value());
    return report.value_or(v1::ReplicasReport());
  }
  bool HasReport() { return replicas_.NextReport(now_).has_value(); }
  void Reply(const v1::ReplicasReport& report, absl::StatusOr<v1::StoreReply> reply = v1::StoreReply()) {
    problem_ = replicas_.Replied(report.number(), std::move(reply), now_);
  }
  static v1::StoreReply QuorumFor(uint64_t call) {
    v1::StoreReply reply;
    v1::ReplicasQuorum& quorum = *reply.add_quorums();
    quorum.add_calls(call);
    quorum.set_quorum_id(7);
    quorum.set_created_unix_ms(1'500);
    quorum.add_members("m");
    return reply;
  }

  MonotonicTime now_ = MonotonicTime::FromNanoseconds(1'000'000'000'000);
  uint64_t last_number_ = 0;
  Replicas replicas_{Settings{.name = "train"}, last_number_};
  std::vector<std::pair<std::string, absl::StatusOr<std::string>>> answers_;
  std::string problem_;
};

TEST_F(ReplicasTest, ACallGoesOutAtOnceAndIsAnswered) {
  const uint64_t call = Ask("a");
  const v1::ReplicasReport report = Report();
  EXPECT_EQ(report.lighthouse(), "train");
  ASSERT_EQ(report.replicas_size(), 1);
  EXPECT_EQ(report.replicas(0).replica_id(), "a");
  EXPECT_EQ(report.replicas(0).call(), call);
  EXPECT_THAT(report.replicas(0).member(), HasSubstr("hi")) << "as it came";
  EXPECT_FALSE(HasReport()) << "nothing is new, and one is open";
  Reply(report, QuorumFor(call));
  ASSERT_EQ(answers_.size(), 1u);
  QuorumReply reply;
  ASSERT_TRUE(answers_[0].second.ok() && reply.ParseFromString(*answers_[0].second));
  EXPECT_EQ(reply.quorum().quorum_id(), 7);
  EXPECT_THAT(reply.quorum().participants(), ElementsAre("m"));
  EXPECT_EQ(reply.quorum().created().seconds(), 1);
  EXPECT_EQ(reply.quorum().created().nanos(), 500'000'000);
  EXPECT_EQ(Report().replicas(0).call(), 0u) << "it lives, and asks nothing";
}

TEST_F(ReplicasTest, OneReportIsAlwaysOpenWhileAReplicaLives) {
  EXPECT_FALSE(replicas_.IsBusy());
  EXPECT_FALSE(HasReport());
  ASSERT_TRUE(Beat("a").ok());
  const v1::ReplicasReport first = Report();
  EXPECT_FALSE(HasReport());
  Reply(first);
  now_ = now_ + absl::Seconds(2);
  const v1::ReplicasReport second = Report();
  EXPECT_EQ(second.replicas(0).silent_ms(), 2000u);
  EXPECT_GT(second.number(), first.number());
  Reply(second);
  now_ = now_ + absl::Seconds(3);
  const v1::ReplicasReport third = Report();
  EXPECT_EQ(third.replicas(0).silent_ms(), 5000u) << "what follows from that is the scheduler's to say";
  Reply(third);
  now_ = now_ + absl::Seconds(5);
  EXPECT_FALSE(HasReport());
  EXPECT_FALSE(replicas_.IsBusy());
}

// A stopped process may have its call open all the time.
TEST_F(ReplicasTest, AWaitingReplicaIsReportedHoweverSilentItIs) {
  const uint64_t call = Ask("a");
  Reply(Report());
  now_ = now_ + absl::Seconds(20);
  EXPECT_EQ(Report().replicas(0).call(), call);
}

TEST_F(ReplicasTest, ASchedulerThatAnswersAtOnceIsNotAskedAtOnce) {
  ASSERT_TRUE(Beat("a").ok());
  Reply(Report());
  EXPECT_FALSE(HasReport());
  now_ = now_ + absl::Milliseconds(499);
  EXPECT_FALSE(HasReport());
  now_ = now_ + absl::Milliseconds(1);
  Reply(Report());
  Ask("a");
  EXPECT_EQ(Report().replicas_size(), 1) << "it says something new";
}

TEST_F(ReplicasTest, AnEndedProcessTakesItsReplicasAlong) {
  Ask("a", 0);
  ASSERT_TRUE(Beat("b", 1).ok());
  Report();
  replicas_.Ended(0);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(answers_[0].second.status()));
  const v1::ReplicasReport report = Report();
  ASSERT_EQ(report.replicas_size(), 1);
  EXPECT_EQ(report.replicas(0).replica_id(), "b");
}

TEST_F(ReplicasTest, AnEmptyReportIsRepeatedUntilItIsReceived) {
  Ask("a");
  Report();
  replicas_.Ended(0);
  Reply(Report(), absl::UnavailableError("gone"));
  now_ = now_ + Replicas::kPause;
  const v1::ReplicasReport again = Report();
  EXPECT_EQ(again.replicas_size(), 0);
  Reply(again, absl::InvalidArgumentError("other rules"));
  now_ = now_ + Replicas::kLongPause;
  EXPECT_FALSE(HasReport()) << "it was heard";
}

TEST_F(ReplicasTest, ACallThatIsGivenUpIsTakenBack) {
  const uint64_t call = Ask("a");
  Report();
  replicas_.GiveUp(call);
  EXPECT_EQ(Report().replicas(0).call(), 0u);
  ASSERT_EQ(answers_.size(), 1u);
  replicas_.GiveUp(call);
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(ReplicasTest, ARepeatedRequestHasOneCall) {
  Ask("a");
  const uint64_t second = Ask("a");
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(answers_[0].second.status()));
  EXPECT_EQ(Report().replicas(0).call(), second);
}

TEST_F(ReplicasTest, CallsWaitWhileTheSchedulerIsAway) {
  const uint64_t call = Ask("a");
  Reply(Report(), absl::UnavailableError("gone"));
  EXPECT_TRUE(answers_.empty());
  EXPECT_FALSE(HasReport()) << "not at once";
  now_ = now_ + Replicas::kPause;
  EXPECT_EQ(Report().replicas(0).call(), call);
}

TEST_F(ReplicasTest, ARefusalIsReported) {
  Ask("a");
  Reply(Report(), absl::InvalidArgumentError("other rules"));
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].second.status().message(), "other rules");
  EXPECT_EQ(problem_, "other rules");
  now_ = now_ + Replicas::kLongPause;
  EXPECT_TRUE(HasReport()) << "it may be fixed";
}

TEST_F(ReplicasTest, TheEndIsToldAndReported) {
  Ask("a");
  Report();
  replicas_.End("rank 3 was killed");
  EXPECT_EQ(answers_[0].second.status().message(), "rank 3 was killed");
  EXPECT_EQ(Report().replicas_size(), 0);
  EXPECT_FALSE(replicas_.IsBusy());
  EXPECT_FALSE(Beat("a").ok());
}

TEST_F(ReplicasTest, IsBounded) {
  for (int i = 0; i < kMaxReplicasOfAgent; ++i) ASSERT_TRUE(Beat("r" + std::to_string(i)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Beat("one more")));
  EXPECT_TRUE(Beat("r0").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Beat("")));
  EXPECT_TRUE(absl::IsInvalidArgument(Beat("a\nb")));
  EXPECT_TRUE(absl::IsInvalidArgument(Beat(std::string(kMaxReplicaIdBytes + 1, 'a'))));
  EXPECT_TRUE(absl::IsInvalidArgument(replicas_.Beat(0, "\xff", now_)));
  QuorumRequest large;
  large.set_requester(Request("r0") + std::string(kMaxReplicaMemberBytes, ' '));
  EXPECT_FALSE(replicas_
                   .Ask(
                       0, large.SerializeAsString(), [](const auto&) {}, now_)
                   .ok());
  for (size_t i = 0; i < Replicas::kMaxOpen; ++i) {
    Ask("r1");
    Report();
  }
  Ask("r1");
  EXPECT_FALSE(HasReport()) << "so many wait for their answers already";
}

}  // namespace
}  // namespace muster::lighthouse
