#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"
#include "scheduler/core/lighthouse/lighthouses.h"
#include "scheduler/core/lighthouse/quorum.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<std::string>;

constexpr MonotonicTime kNow = MonotonicTime::FromNanoseconds(1'000'000'000'000);

struct QuorumCase {
  const char* what;
  std::map<std::string, double> asking;  // replica → seconds for which it has been asking
  size_t alive;
  std::optional<Ids> last;
  Ids members;
  std::set<std::string> only_shrink = {};
  size_t min_replicas = 2;
};

class QuorumTable : public ::testing::TestWithParam<QuorumCase> {};

TEST_P(QuorumTable, IsAsTheTableSays) {
  const QuorumCase& one = GetParam();
  std::vector<Asker> askers;
  for (const auto& [id, since] : one.asking) {
    askers.push_back({&id, kNow - absl::Seconds(since), one.only_shrink.contains(id)});
  }
  const QuorumDecision decision =
      DecideQuorum(askers, one.alive, one.last ? &*one.last : nullptr, {one.min_replicas, absl::Seconds(60)}, kNow);
  EXPECT_EQ(decision.members, one.members) << one.what;
  EXPECT_EQ(decision.why_not.empty(), !one.members.empty()) << decision.why_not;
}

INSTANTIATE_TEST_SUITE_P(
    All, QuorumTable,
    ::testing::Values(
        QuorumCase{"nobody asks", {}, 3, Ids{"a"}, {}},
        QuorumCase{"all that are alive ask", {{"a", 0}, {"b", 0}}, 2, {}, {"a", "b"}},
        QuorumCase{"too few", {{"a", 99}}, 1, {}, {}},
        QuorumCase{"too few of the last, too", {{"a", 99}}, 1, Ids{"a", "b"}, {}},
        QuorumCase{"half of them is not enough", {{"a", 99}, {"b", 99}}, 4, {}, {}},
        QuorumCase{"more than half, but the others may come", {{"a", 59}, {"b", 0}}, 3, {}, {}},
        QuorumCase{"more than half, and the others had their time", {{"a", 60}, {"b", 0}}, 3, {}, {"a", "b"}},
        QuorumCase{"all of the last one are back", {{"a", 0}, {"b", 0}}, 9, Ids{"a", "b"}, {"a", "b"}},
        QuorumCase{"and whoever else waits is in", {{"a", 0}, {"b", 0}, {"c", 5}}, 9, Ids{"a", "b"}, {"a", "b", "c"}},
        QuorumCase{"even where these are fewer than the least", {{"a", 0}}, 9, Ids{"a"}, {"a"}},
        QuorumCase{"not so where one of them is missing", {{"a", 0}, {"c", 0}}, 3, Ids{"a", "b"}, {}},
        QuorumCase{"it only shrinks", {{"a", 0}, {"b", 0}, {"c", 0}}, 3, Ids{"a", "b"}, {"a", "b"}, {"a"}},
        QuorumCase{"and has lost one", {{"a", 0}, {"c", 0}}, 2, Ids{"a", "b"}, {"a"}, {"c"}},
        QuorumCase{"the first one has all", {{"a", 0}, {"c", 0}}, 2, {}, {"a", "c"}, {"c"}},
        QuorumCase{"nobody would be left", {{"c", 0}, {"d", 0}}, 2, Ids{"a", "b"}, {}, {"c"}}));

TEST(DecideQuorum, SaysWhenTimeAloneBringsOne) {
  const std::string a = "a", b = "b";
  const QuorumDecision decision =
      DecideQuorum({{&a, kNow - absl::Seconds(20)}, {&b, kNow}}, 3, nullptr, {1, absl::Seconds(60)}, kNow);
  EXPECT_EQ(decision.look_again, kNow + absl::Seconds(40));
}

// Jobs of one node each, with replicas that meet in one lighthouse.
class LighthouseTest : public ::testing::Test {
 protected:
  LighthouseTest() { Start({}); }

  void Start(const std::vector<v1::Record>& journal) {
    core_ = std::make_unique<Core>(CoreOptions(), "cluster");
    for (const v1::Record& record : journal) core_->Recover(record);
    Take(core_->Start(Time()));
  }
  Now Time() const { return Now{.monotonic = now_, .wall = {}}; }

  void Join(const std::string& job) {
    JoinRequested event;
    event.stream = ++streams_;
    event.peer_address = "10.0.0.1";
    v1::Join& join = event.join;
    join.set_protocol_version(kProtocolVersion);
    join.set_job_id(job);
    join.set_node_id("n");
    join.set_incarnation(1);
    join.set_connect_seq(streams_);
    join.mutable_settings()->set_worker_num(1);
    join.mutable_node()->set_role(v1::ROLE_WORKER);
    join.mutable_node()->set_machine_id("m");
    join.mutable_node()->add_slots();
    Take(core_->Apply(event, Time()));
  }

  // One agent's report: its replicas, each with its call; 0: no call waits.
  QueryId Report(const std::string& job, const std::map<std::string, uint64_t>& calls, uint32_t silent_ms = 0) {
    v1::ReplicasReport report = ReportOf(job, calls, silent_ms);
    const QueryId query = ++queries_;
    Take(core_->Apply(StoreRequested{query, std::move(report), ""}, Time()));
    return query;
  }
  v1::ReplicasReport ReportOf(const std::string& job, const std::map<std::string, uint64_t>& calls,
                              uint32_t silent_ms) {
    v1::ReplicasReport report;
    v1::StoreCaller& caller = *report.mutable_caller();
    caller.set_job_id(job);
    caller.set_run(1);
    caller.set_round(1);
    caller.set_node_id("n");
    caller.set_incarnation(1);
    report.set_lighthouse(name_);
    report.set_number(++numbers_[job]);
    report.set_wait_ms(1000);
    report.mutable_rules()->set_min_replicas(min_replicas_);
    report.mutable_rules()->set_join_timeout_ms(join_timeout_ms_);
    report.mutable_rules()->set_heartbeat_timeout_ms(5'000);
    for (const auto& [id, call] : calls) {
      v1::ReplicaReport& replica = *report.add_replicas();
      replica.set_replica_id(id);
      replica.set_silent_ms(silent_ms);
      replica.set_call(call);
      replica.set_member(absl::StrCat("member ", id));
      replica.set_has_commit_failures(has_failures_);
    }
    return report;
  }
  void Pass(absl::Duration time) {
    now_ = now_ + time;
    Take(core_->Apply(Tick(), Time()));
  }
  void Take(Effects effects) {
    for (Effect& effect : effects) {
      if (auto* answer = std::get_if<Answer>(&effect)) answers_[answer->query] = std::move(*answer);
      if (auto* persist = std::get_if<Persist>(&effect)) records_.push_back(persist->record);
    }
    core_->CheckInvariants();
  }

  // From then on one replica is enough for a quorum.
  void RestartWithAQuorumOfAAndB() {
    min_replicas_ = 1;
    Join("one");
    Join("two");
    Report("two", {{"b", 0}});
    Report("one", {{"a", 1}});
    Report("two", {{"b", 1}});
    ASSERT_THAT(records_.back().quorum_changed().replica_ids(), ElementsAre("a", "b"));
    Start(std::vector<v1::Record>(records_));
    Join("one");
    Join("two");
  }

  // "2: member a, member b for 7"; "nothing": the report has timed out; "waits"; or the error.
  std::string AnswerTo(QueryId query) {
    if (!answers_.contains(query)) return "waits";
    const Answer& answer = answers_.at(query);
    if (!answer.status.ok()) return std::string(answer.status.message());
    std::string text;
    for (const v1::ReplicasQuorum& quorum : std::get<v1::StoreReply>(answer.reply).quorums()) {
      absl::StrAppend(&text, quorum.quorum_id(), ":");
      for (const std::string& member : quorum.members()) absl::StrAppend(&text, " ", member.substr(7));
      for (const uint64_t call : quorum.calls()) absl::StrAppend(&text, " for ", call);
    }
    return text.empty() ? "nothing" : text;
  }

  std::unique_ptr<Core> core_;
  std::vector<v1::Record> records_;
  std::map<QueryId, Answer> answers_;
  std::map<std::string, uint64_t> numbers_;
  MonotonicTime now_ = kNow;
  std::string name_ = "train";
  uint32_t min_replicas_ = 2;
  uint32_t join_timeout_ms_ = 60'000;
  bool has_failures_ = false;
  StreamId streams_ = 0;
  QueryId queries_ = 0;
};

TEST_F(LighthouseTest, ReplicasOfTwoJobsMeet) {
  Join("one");
  Join("two");
  const QueryId a = Report("one", {{"a", 7}});
  EXPECT_EQ(AnswerTo(a), "waits");
  const QueryId b = Report("two", {{"b", 3}});
  EXPECT_EQ(AnswerTo(a), "1: a b for 7");
  EXPECT_EQ(AnswerTo(b), "1: a b for 3");
  EXPECT_EQ(records_.back().quorum_changed().quorum_id(), 1);
  EXPECT_THAT(records_.back().quorum_changed().replica_ids(), ElementsAre("a", "b"));
}

TEST_F(LighthouseTest, TheSameMembersKeepTheNumberAndWriteNothing) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Report("two", {{"b", 1}});
  const size_t written = records_.size();
  const QueryId a = Report("one", {{"a", 2}});
  Report("two", {{"b", 2}});
  EXPECT_EQ(AnswerTo(a), "1: a b for 2");
  EXPECT_EQ(records_.size(), written);
  has_failures_ = true;
  const QueryId failed = Report("one", {{"a", 3}});
  Report("two", {{"b", 3}});
  EXPECT_EQ(AnswerTo(failed), "2: a b for 3") << "a member that could not commit makes all begin again";
}

TEST_F(LighthouseTest, AReplicaThatItsAgentHasNoMoreIsGoneAtOnce) {
  for (const char* job : {"one", "two", "three"}) Join(job);
  Report("one", {{"a", 1}});
  Report("two", {{"b", 1}});
  Report("three", {{"c", 0}});
  const QueryId a = Report("one", {{"a", 2}}), b = Report("two", {{"b", 2}});
  EXPECT_EQ(AnswerTo(a), "1: a b for 2") << "the last two are back; c was late";
  const QueryId again = Report("one", {{"a", 3}});
  EXPECT_EQ(AnswerTo(b), "1: a b for 2");
  Report("two", {});
  Report("three", {{"c", 5}});
  EXPECT_EQ(AnswerTo(again), "2: a c for 3") << "b's process ended";
}

TEST_F(LighthouseTest, ASilentReplicaIsRemoved) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Report("two", {{"b", 1}});
  min_replicas_ = 1;
  const QueryId refused = Report("one", {{"a", 2}});
  EXPECT_THAT(AnswerTo(refused), HasSubstr("has other rules"));
  min_replicas_ = 2;
  QueryId a = Report("one", {{"a", 2}});
  for (int i = 0; i < 5; ++i) {
    Pass(absl::Seconds(1));
    EXPECT_EQ(AnswerTo(a), "nothing") << "its wait is over; it asks again";
    a = Report("one", {{"a", 2}});
  }
  min_replicas_ = 1;  // b is gone, so no member uses the other rules
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 2}})), "2: a for 2");
}

// Two replicas on different machines. Their agents report them about every second.
TEST_F(LighthouseTest, ReplicasThatDieTogetherFormNoQuorumBetweenTheirEnds) {
  for (const char* job : {"one", "two", "three", "four"}) Join(job);
  for (const absl::Duration between : {absl::Milliseconds(60), absl::Milliseconds(1200)}) {
    name_ = absl::StrCat("train-", absl::ToInt64Milliseconds(between));
    Report("four", {{"d", 0}});
    Pass(between);
    Report("two", {{"b", 1}});
    Pass(absl::Seconds(3));
    Report("one", {{"a", 1}});
    const QueryId c = Report("three", {{"c", 1}});
    Pass(absl::Seconds(2) - between);
    Pass(between / 2);
    EXPECT_EQ(AnswerTo(Report("one", {{"a", 1}})), "waits") << "d is silent for 5 s, b is not yet";
    EXPECT_EQ(AnswerTo(c), "nothing") << between;
    Pass(between / 2);
    EXPECT_EQ(AnswerTo(Report("three", {{"c", 1}})), "1: a c for 1");
  }
}

TEST_F(LighthouseTest, ALoopThatWasLateKeepsThemInDoubt) {
  for (const char* job : {"one", "two", "three"}) Join(job);
  Report("three", {{"d", 0}});
  Pass(absl::Milliseconds(60));
  Report("two", {{"b", 1}});
  Pass(absl::Milliseconds(4'900));
  Report("one", {{"a", 1}});
  Pass(absl::Milliseconds(50));  // d is silent for 5 s
  now_ = now_ + absl::Seconds(2);
  Take(core_->Apply(LoopWasLate{absl::Seconds(2)}, Time()));
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 1}})), "waits") << "b may have died with d";
}

TEST_F(LighthouseTest, AReplicaReportedSilentAfterARestartDidNotDieAlone) {
  ASSERT_NO_FATAL_FAILURE(RestartWithAQuorumOfAAndB());
  Join("three");
  Report("two", {{"b", 0}}, 5'000);
  Report("three", {{"c", 2}}, 4'900);
  const QueryId a = Report("one", {{"a", 2}});
  EXPECT_EQ(AnswerTo(a), "waits");
  Pass(absl::Milliseconds(100));
  min_replicas_ = 1;
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 2}})), "2: a for 2");
}

TEST_F(LighthouseTest, ASilentReplicaThatIsStillReportedDelaysNoOther) {
  min_replicas_ = 1;
  Join("one");
  Join("two");
  Report("one", {{"a", 0}});
  Report("two", {{"b", 1}});
  for (uint32_t silent_ms = 1'000; silent_ms <= 5'000; silent_ms += 1'000) {
    Pass(absl::Seconds(1));
    Report("one", {{"a", 0}});
    Report("two", {{"b", 1}}, silent_ms);  // its connection is open, so its agent goes on reporting the call
  }
  const QueryId silent = Report("two", {{"b", 1}}, 5'100);
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 1}})), "1: a for 1");
  EXPECT_EQ(AnswerTo(silent), "waits") << "its agent would soon report the same again";
  Pass(absl::Seconds(1));
  EXPECT_EQ(AnswerTo(silent), "nothing");
  EXPECT_EQ(AnswerTo(Report("two", {})), "nothing");
}

TEST_F(LighthouseTest, ReplicasThatAlwaysFallSilentDelayNoOther) {
  Join("one");
  Join("two");
  Join("three");
  Report("one", {{"a", 0}});
  Report("two", {{"b", 0}});
  for (int i = 0; i < 100; ++i) {
    Report("three", {{absl::StrCat("x", i), 0}}, 4'999);
    Pass(absl::Milliseconds(1));
  }
  Report("one", {{"a", 1}});
  EXPECT_EQ(AnswerTo(Report("two", {{"b", 1}})), "1: a b for 1");
}

// Otherwise, once they have waited long enough, they would train as a second quorum next to the one that has just
// begun.
TEST_F(LighthouseTest, DoubtfulReplicasThatAreLeftOutAskAgain) {
  for (const char* job : {"one", "two", "three"}) Join(job);
  join_timeout_ms_ = 1'000;
  min_replicas_ = 1;
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 1}})), "1: a for 1");
  Report("two", {{"x", 0}, {"y", 0}}, 100);
  Pass(absl::Milliseconds(500));
  Report("three", {{"b", 1}, {"c", 1}, {"d", 1}});
  Pass(absl::Milliseconds(4'400));  // x and y fall silent
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 2}})), "1: a for 2") << "the others may have died with them";
  EXPECT_EQ(AnswerTo(Report("three", {{"b", 1}, {"c", 1}, {"d", 1}})), "waits");
  const QueryId a = Report("one", {{"a", 3}});
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(AnswerTo(a), "2: a b c d for 3");
}

TEST_F(LighthouseTest, AReplicaThatIsHeardElsewhereIsThere) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Pass(absl::Milliseconds(1));
  const QueryId moved = Report("two", {{"a", 1}});
  EXPECT_EQ(AnswerTo(moved), "waits");
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 1}}, 6'000)), "waits") << "silent here, but alive there";
  Report("one", {{"b", 1}});
  EXPECT_EQ(AnswerTo(moved), "1: a b for 1");
}

TEST_F(LighthouseTest, AnAnswerThatWasLostComesAgain) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Report("two", {{"b", 1}});
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 1}})), "1: a b for 1");
  EXPECT_EQ(AnswerTo(Report("two", {{"b", 2}})), "waits") << "a does not ask";
}

TEST_F(LighthouseTest, ACallThatWasGivenUpCountsForNothing) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Report("one", {{"a", 0}});
  const QueryId b = Report("two", {{"b", 1}});
  EXPECT_EQ(AnswerTo(b), "waits");
  const QueryId a = Report("one", {{"a", 2}});
  EXPECT_EQ(AnswerTo(a), "1: a b for 2");
}

TEST_F(LighthouseTest, AReportThatComesLateSaysNothing) {
  Join("one");
  Join("two");
  const v1::ReplicasReport late = ReportOf("one", {{"a", 1}}, 0);
  Report("one", {{"a", 0}});
  const QueryId query = ++queries_;
  Take(core_->Apply(StoreRequested{query, late, ""}, Time()));
  EXPECT_EQ(AnswerTo(query), "nothing");
  EXPECT_EQ(AnswerTo(Report("two", {{"b", 1}})), "waits");
}

TEST_F(LighthouseTest, TheNumberGoesOnAfterARestart) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Report("two", {{"b", 1}});
  for (const bool by_snapshot : {false, true}) {
    std::vector<v1::Record> journal = records_;
    if (by_snapshot) journal = {core_->TakeSnapshot()};
    records_ = journal;
    Start(journal);
    Join("one");
    Join("two");
    const QueryId a = Report("one", {{"a", 9u + by_snapshot}});
    Report("two", {{"b", 9u + by_snapshot}});
    EXPECT_THAT(AnswerTo(a), HasSubstr("1: a b for ")) << "the same members: their process group stays";
  }
  Report("two", {{"c", 20}});
  const QueryId a = Report("one", {{"a", 20}});
  EXPECT_EQ(AnswerTo(a), "2: a c for 20")
      << "torchft's own begins with 1 again, and a would keep its old process group";
}

TEST_F(LighthouseTest, TheFirstReplicaAfterARestartWaitsForTheOthers) {
  ASSERT_NO_FATAL_FAILURE(RestartWithAQuorumOfAAndB());
  QueryId a = Report("one", {{"a", 2}});
  EXPECT_EQ(AnswerTo(a), "waits") << "b may train on";
  Take(core_->Apply(LoopWasLate{absl::Seconds(2)}, Time()));
  for (int i = 0; i < 16; ++i) {  // --disconnect_grace, the heartbeat timeout, and the loop's delay
    Pass(absl::Seconds(1));
    EXPECT_EQ(AnswerTo(a), "nothing");
    a = Report("one", {{"a", 2}});
  }
  EXPECT_EQ(AnswerTo(a), "waits");
  Pass(absl::Seconds(1));
  EXPECT_EQ(AnswerTo(a), "2: a for 2") << "b is gone";
}

TEST_F(LighthouseTest, AReplicaAfterAllHaveGoneWaitsForNoOther) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Report("two", {{"b", 1}});
  Report("one", {});
  Report("two", {});
  const QueryId c = Report("one", {{"c", 2}});
  EXPECT_EQ(AnswerTo(c), "waits");
  Report("two", {{"d", 2}});
  EXPECT_EQ(AnswerTo(c), "2: c d for 2") << "the last ones are known to have gone: there was no restart";
}

TEST_F(LighthouseTest, TheFirstReplicaThatLeavesAfterARestartDoesNotTakeTheOthersAlong) {
  ASSERT_NO_FATAL_FAILURE(RestartWithAQuorumOfAAndB());
  Report("one", {{"a", 2}});
  Report("one", {});
  EXPECT_EQ(AnswerTo(Report("one", {{"c", 3}})), "waits") << "b may train on";
}

TEST_F(LighthouseTest, AnUnknownNodeIsTurnedAway) {
  Join("one");
  EXPECT_THAT(AnswerTo(Report("other", {{"a", 1}})), HasSubstr("not known"));
}

TEST_F(LighthouseTest, AllNamesThatThereMayBeCanBeUsedAtOnce) {
  Join("one");
  min_replicas_ = 1;
  for (size_t i = 0; i < Lighthouses::kMaxLighthouses; ++i) {
    name_ = absl::StrCat("train-", i);
    ASSERT_EQ(AnswerTo(Report("one", {{"a", i + 1}})), absl::StrCat("1: a for ", i + 1)) << name_;
  }
  name_ = "one more";
  EXPECT_THAT(AnswerTo(Report("one", {{"a", 1000}})), HasSubstr("256 lighthouses already"));
  name_ = "train-0";
  EXPECT_EQ(AnswerTo(Report("one", {{"a", 1001}})), "1: a for 1001");
}

TEST_F(LighthouseTest, ALateLoopDoesNotCountAsSilence) {
  Join("one");
  Join("two");
  Report("one", {{"a", 1}});
  Report("two", {{"b", 1}});
  now_ = now_ + absl::Seconds(6);
  Take(core_->Apply(LoopWasLate{absl::Seconds(6)}, Time()));
  Pass(absl::ZeroDuration());
  min_replicas_ = 1;
  EXPECT_THAT(AnswerTo(Report("one", {{"a", 2}})), HasSubstr("has other rules")) << "b is still there";
}

TEST_F(LighthouseTest, IsBounded) {
  Join("one");
  std::map<std::string, uint64_t> many;
  for (size_t i = 0; i <= Lighthouses::kMaxReplicas; ++i) many[absl::StrCat("r", i)] = 0;
  EXPECT_THAT(AnswerTo(Report("one", many)), HasSubstr("at most 4096"));
}

}  // namespace
}  // namespace muster::scheduler
