// JAX's coordination service on several agents that share one store.
#include "worker_agent/gateway/jax/coordination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "absl/strings/str_cat.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"

namespace muster::jax {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Code = absl::StatusCode;

constexpr uint64_t kService = 77;

// The answer to a request, once there is one.
struct Asked {
  std::optional<absl::StatusOr<Reply>> answer;
  SharedHeld held;
  bool is_open() const { return !answer; }
  const absl::Status& status() const { return answer->status(); }
};

// Tasks 0 and 1 are the first agent's, 2 and 3 the second's.
class CoordinationTest : public testing::Test {
 protected:
  CoordinationTest() {
    for (size_t agent = 0; agent < 2; ++agent) {
      agent::TaskLayout layout;
      layout.agents = {{0, 1}, {2, 3}};
      layout.hosts = {"one", "two"};
      layout.own = agent;
      const auto post = [this](std::function<void()> step) { steps_.push_back(std::move(step)); };
      agents_.push_back(std::make_unique<Coordination>(store_, clock_, post, layout, kService));
    }
  }
  ~CoordinationTest() override { steps_.clear(); }

  void Run() {
    while (!steps_.empty()) {
      const auto step = std::move(steps_.front());
      steps_.pop_front();
      step();
    }
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    store_.Tick();
    for (auto& agent : agents_) agent->Tick();
    Run();
  }

  Asked& Ask(int32_t task, Request request) {
    if (!request.task) request.task = task;
    Asked& asked = asked_.emplace_back();
    asked.held =
        std::make_shared<HeldRequest>([&asked](absl::StatusOr<Reply> reply) { asked.answer = std::move(reply); });
    agents_[static_cast<size_t>(task / 2)]->Handle(std::move(request), asked.held);
    Run();
    return asked;
  }
  Asked& Ask(int32_t task, Method method) {
    Request request;
    request.method = method;
    request.incarnation = Process(task);
    return Ask(task, std::move(request));
  }
  static uint64_t Process(int32_t task) { return static_cast<uint64_t>(task) + 1000; }

  Asked& Insert(int32_t task, const std::string& key, const std::string& value, bool may_overwrite = false) {
    Request request;
    request.method = Method::kInsert;
    request.name = key;
    request.value = value;
    request.may_overwrite = may_overwrite;
    return Ask(task, std::move(request));
  }
  Asked& Of(int32_t task, Method method, const std::string& key) {
    Request request;
    request.method = method;
    request.name = key;
    return Ask(task, std::move(request));
  }
  Asked& Barrier(int32_t task, const std::string& name, int64_t counter = 0, std::vector<int32_t> tasks = {},
                 int64_t timeout_ms = 0) {
    Request request;
    request.method = Method::kBarrier;
    request.name = name;
    request.counter = counter;
    request.tasks = std::move(tasks);
    request.timeout_ms = timeout_ms;
    return Ask(task, std::move(request));
  }
  void RegisterAll() {
    for (const int32_t task : {0, 1, 2, 3}) Ask(task, Method::kRegister);
  }

  ManualClock clock_;
  std::deque<std::function<void()>> steps_;
  MemoryJobStore store_{clock_};
  std::deque<Asked> asked_;
  std::vector<std::unique_ptr<Coordination>> agents_;
};

TEST_F(CoordinationTest, RegistrationIsHeldUntilAllTasksAreThere) {
  std::vector<Asked*> registered;
  for (const int32_t task : {0, 2, 1}) registered.push_back(&Ask(task, Method::kRegister));
  for (const Asked* asked : registered) EXPECT_TRUE(asked->is_open());
  registered.push_back(&Ask(3, Method::kRegister));
  for (const Asked* asked : registered) {
    ASSERT_FALSE(asked->is_open());
    EXPECT_EQ(asked->answer->value().incarnation, kService);
  }
  EXPECT_TRUE(Ask(1, Method::kRegister).answer->ok()) << "the same process again";
  Request other;
  other.method = Method::kRegister;
  other.incarnation = 5;
  EXPECT_EQ(Ask(1, other).status().code(), Code::kAborted);
}

TEST_F(CoordinationTest, ARegistrationNamesTheTasksItWaitedFor) {
  Request request;
  request.method = Method::kRegister;
  request.timeout_ms = 3000;
  Asked& asked = Ask(0, request);
  Ask(3, request);
  Pass(absl::Seconds(1.1));
  Pass(absl::Seconds(2));
  ASSERT_FALSE(asked.is_open());
  EXPECT_EQ(asked.status().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(std::string(asked.status().message()), HasSubstr("2 of 4 tasks have come; missing: 1 on one, 2 on two."));
}

TEST_F(CoordinationTest, AnUnknownTaskIsRefusedWithARemedy) {
  Request request;
  request.method = Method::kRegister;
  request.task = 7;
  const Asked& asked = Ask(0, request);
  EXPECT_EQ(asked.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(asked.status().message()), HasSubstr("process_id=int(os.environ[\"RANK\"])"));
  EXPECT_TRUE(asked.status().GetPayload("type.googleapis.com/tensorflow.CoordinationServiceError").has_value());
}

TEST_F(CoordinationTest, AProcessOfAnotherRoundIsTurnedAway) {
  Request request;
  request.method = Method::kGet;
  request.name = "x";
  request.service_incarnation = kService + 1;
  const Asked& asked = Ask(0, request);
  EXPECT_EQ(asked.status().code(), Code::kInternal);
  EXPECT_TRUE(asked.status().GetPayload("type.googleapis.com/tensorflow.ServiceMismatchError").has_value());
}

TEST_F(CoordinationTest, AHeartbeatNeedsARegisteredProcess) {
  EXPECT_EQ(Ask(0, Method::kHeartbeat).status().code(), Code::kInvalidArgument);
  RegisterAll();
  EXPECT_TRUE(Ask(0, Method::kHeartbeat).answer->ok());
}

TEST_F(CoordinationTest, ValuesAreSharedAndKeysArePaths) {
  EXPECT_TRUE(Insert(0, "/a//b/", "1").answer->ok());
  EXPECT_EQ(Of(3, Method::kGet, "a/b").answer->value().values[0].second, "1");
  const Asked& again = Insert(2, "a/b", "1");
  EXPECT_EQ(again.status().code(), Code::kAlreadyExists);
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("key a/b already exists."));
  EXPECT_TRUE(Insert(2, "a/b", "2", /*may_overwrite=*/true).answer->ok());
  EXPECT_EQ(Of(0, Method::kTryGet, "a/b").answer->value().values[0].second, "2");
  EXPECT_EQ(Of(0, Method::kTryGet, "a").status().code(), Code::kNotFound);
}

TEST_F(CoordinationTest, AGetWaitsUntilTheValueIsThereOrTheAskerIsGone) {
  Asked& got = Of(0, Method::kGet, "x");
  Asked& gone = Of(1, Method::kGet, "x");
  EXPECT_TRUE(got.is_open());
  Pass(absl::Seconds(6));
  EXPECT_TRUE(got.is_open()) << "it asks again";
  gone.held->Complete(absl::CancelledError("its asker has gone"));
  Insert(3, "x", "v");
  ASSERT_FALSE(got.is_open());
  EXPECT_EQ(got.answer->value().values[0], std::make_pair(std::string("x"), std::string("v")));
  EXPECT_EQ(gone.status().code(), Code::kCancelled);
}

TEST_F(CoordinationTest, ADirectoryHasAllBelowItAndGoesAsAWhole) {
  for (const char* key : {"d/1", "d/s/2", "dd", "e"}) Insert(0, key, key);
  EXPECT_THAT(Of(2, Method::kGetDirectory, "d/").answer->value().values,
              ElementsAre(Pair("d/1", "d/1"), Pair("d/s/2", "d/s/2")));
  EXPECT_THAT(Of(2, Method::kGetDirectory, "none").answer->value().values, IsEmpty());
  EXPECT_TRUE(Of(2, Method::kDelete, "d").answer->ok());
  EXPECT_THAT(Of(0, Method::kGetDirectory, "d").answer->value().values, IsEmpty());
  EXPECT_EQ(Of(0, Method::kTryGet, "dd").answer->value().values[0].second, "dd");
  EXPECT_TRUE(Of(2, Method::kDelete, "not there").answer->ok());
}

TEST_F(CoordinationTest, LargeValuesAndLongKeysArriveWhole) {
  const std::string value(1'000'000, 'v');
  const std::string key = absl::StrCat("cpu:gloo/", std::string(5000, '1'), "/0");
  EXPECT_TRUE(Insert(0, key, value).answer->ok());
  EXPECT_EQ(Of(2, Method::kGet, key).answer->value().values[0].second, value);
  EXPECT_EQ(Insert(3, key, "other").status().code(), Code::kAlreadyExists);
  const auto listed = Of(3, Method::kGetDirectory, absl::StrCat("cpu:gloo/", std::string(5000, '1'))).answer->value();
  EXPECT_THAT(listed.values, ElementsAre(Pair(key, value)));
  EXPECT_EQ(Insert(0, "y", std::string(KeyValues::kMaxValueBytes + 1, 'v')).status().code(), Code::kInvalidArgument);
}

TEST_F(CoordinationTest, LargeValuesThatGoLeaveNothing) {
  const std::string value(1'000'000, 'v');
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Insert(0, "d/x", value, /*may_overwrite=*/true).answer->ok()) << i;
  ASSERT_TRUE(Insert(0, "d/y", value).answer->ok());
  EXPECT_EQ(Insert(2, "d/y", value).status().code(), Code::kAlreadyExists);
  EXPECT_TRUE(Of(3, Method::kDelete, "d").answer->ok());
  JobStore::Listing listing;
  store_.List("jax/", "", 0, [&](const auto& page) { listing = *page; });
  EXPECT_THAT(listing.entries, IsEmpty());
}

TEST_F(CoordinationTest, AReaderOfAMissingTextReadsTheValueAgain) {
  const std::string value(100'000, 'v');
  ASSERT_TRUE(Insert(0, "x", value).answer->ok());
  JobStore::Listing texts;
  store_.List("jax/t/", "", 0, [&](const auto& page) { texts = *page; });
  ASSERT_EQ(texts.entries.size(), 2u);
  for (const auto& [key, bytes] : texts.entries) store_.Delete(key, [](const absl::Status&) {});
  Asked& got = Of(3, Method::kGet, "x");
  EXPECT_TRUE(got.is_open());
  Insert(0, "x", "new", /*may_overwrite=*/true);
  Pass(absl::Seconds(6));
  ASSERT_FALSE(got.is_open());
  EXPECT_EQ(got.answer->value().values[0].second, "new");
}

TEST_F(CoordinationTest, TheRootIsNoDirectory) {
  Insert(0, "a", "1");
  EXPECT_TRUE(Of(0, Method::kDelete, "/").answer->ok());
  EXPECT_THAT(Of(0, Method::kGetDirectory, "").answer->value().values, IsEmpty());
  EXPECT_EQ(Of(0, Method::kTryGet, "a").answer->value().values[0].second, "1");
}

TEST_F(CoordinationTest, NumbersAreAddedTo) {
  const auto add = [&](int32_t task, int64_t by) -> const absl::StatusOr<Reply>& {
    Request request;
    request.method = Method::kIncrement;
    request.name = "n";
    request.increment = by;
    return *Ask(task, std::move(request)).answer;
  };
  EXPECT_EQ(add(0, 2)->values[0].second, "2");
  EXPECT_EQ(add(3, 5)->values[0].second, "7");
  Insert(0, "n", "12", true);
  EXPECT_EQ(add(1, 1)->values[0].second, "13");
  Insert(0, "n", "abc", true);
  EXPECT_EQ(add(1, 1).status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(add(1, 1).status().message()), HasSubstr("Failed to parse value \"abc\" as an integer."));
}

TEST_F(CoordinationTest, ABarrierIsOfAllOrOfSomeAndCounted) {
  Asked& first = Barrier(0, "b");
  Barrier(1, "b");
  Barrier(2, "b");
  EXPECT_TRUE(first.is_open());
  EXPECT_TRUE(Barrier(3, "b").answer->ok());
  EXPECT_TRUE(first.answer->ok());
  EXPECT_TRUE(Barrier(3, "b").answer->ok()) << "the same one again";
  Asked& next = Barrier(3, "b", 1);
  EXPECT_TRUE(next.is_open());
  const Asked& wrong = Barrier(0, "b", 3);
  EXPECT_EQ(wrong.status().code(), Code::kInternal);
  EXPECT_TRUE(wrong.status().GetPayload("type.googleapis.com/tensorflow.BarrierError").has_value());

  EXPECT_TRUE(Barrier(1, "some", 0, {1, 2}).is_open());
  EXPECT_TRUE(Barrier(2, "some", 0, {2, 1}).answer->ok());
  EXPECT_TRUE(Barrier(1, "own", 0, {1}).answer->ok());
  EXPECT_EQ(Barrier(1, "far", 0, {1, 9}).status().code(), Code::kInvalidArgument);
}

TEST_F(CoordinationTest, ADisagreementFailsTheBarrierForAll) {
  Asked& one = Barrier(0, "b", 0, {0, 2});
  Asked& two = Barrier(2, "b", 0, {0, 2, 3});
  Asked& three = Barrier(3, "b", 0, {0, 2, 3});
  EXPECT_EQ(one.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(two.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(three.status().code(), Code::kInvalidArgument);

  Asked& member = Barrier(0, "c", 0, {0, 1});
  EXPECT_EQ(Barrier(3, "c", 0, {0, 1}).status().code(), Code::kInvalidArgument);
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(member.status().code(), Code::kInvalidArgument) << "one that takes no part has come";
}

TEST_F(CoordinationTest, AnEndedBarrierOfSomeIsNoneOfAll) {
  EXPECT_TRUE(Barrier(0, "b", 0, {0}).answer->ok());
  std::vector<Asked*> late;
  for (const int32_t task : {2, 3}) late.push_back(&Barrier(task, "b"));
  for (const Asked* asked : late) EXPECT_EQ(asked->status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Barrier(0, "c", 0, {0, 1}).is_open());
  EXPECT_TRUE(Barrier(2, "c", 0, {2, 3}).is_open());
  Barrier(1, "c", 0, {0, 1});
  EXPECT_EQ(Barrier(3, "c", 0, {2, 3}).status().code(), Code::kInvalidArgument) << "it is not theirs that has ended";
}

TEST_F(CoordinationTest, ACallThatComesAgainTakesThePlaceOfTheOneBefore) {
  Asked& before = Barrier(0, "b", 0, {0, 2});
  Asked& again = Barrier(0, "b", 0, {0, 2});
  EXPECT_EQ(before.status().code(), Code::kUnavailable);
  Barrier(2, "b", 0, {0, 2});
  EXPECT_TRUE(again.answer->ok());
}

TEST_F(CoordinationTest, ABarrierThatLastsTooLongNamesTheMissingTasks) {
  Asked& one = Barrier(0, "b", 0, {}, 5000);
  Asked& two = Barrier(2, "b", 0, {}, 60'000);
  Pass(absl::Seconds(1.1));
  Pass(absl::Seconds(2));
  EXPECT_TRUE(one.is_open());
  Pass(absl::Seconds(2));
  ASSERT_FALSE(one.is_open());
  EXPECT_EQ(one.status().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(std::string(one.status().message()), HasSubstr("2 of 4 tasks have come; missing: 1 on one, 3 on two."));
  EXPECT_EQ(two.status().code(), Code::kDeadlineExceeded) << "the first one's time counts";
}

TEST_F(CoordinationTest, AFailedBarrierSendsItsNumberSoThatTheNextOneFollows) {
  Asked& failed = Barrier(0, "b", 0, {}, 1000);
  Pass(absl::Seconds(1.1));
  ASSERT_EQ(failed.status().code(), Code::kDeadlineExceeded);
  const auto payload = failed.status().GetPayload("type.googleapis.com/tensorflow.BarrierError");
  ASSERT_TRUE(payload.has_value());
  BarrierError error;
  ASSERT_TRUE(error.ParseFromString(std::string(*payload)));
  EXPECT_EQ(error.barrier_id(), "b");
  EXPECT_EQ(error.counter(), 0);
  const Asked& late = Barrier(3, "b");
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(late.status().code(), Code::kDeadlineExceeded) << "a late request gets the error, too";
  Asked& next = Barrier(0, "b", 1);
  for (const int32_t task : {1, 2, 3}) Barrier(task, "b", 1);
  EXPECT_TRUE(next.answer->ok());
}

TEST_F(CoordinationTest, BarriersLeaveTheirResultsForAnHour) {
  const auto keys = [&] {
    JobStore::Listing listing;
    store_.List("jax/b/", "", 0, [&](const auto& page) { listing = *page; });
    return listing.entries.size();
  };
  for (int i = 0; i < 20; ++i) {
    for (const int32_t task : {0, 1, 2, 3}) Barrier(task, absl::StrCat("b", i));
  }
  EXPECT_EQ(keys(), 20u);
  Pass(absl::Hours(1));
  for (const int32_t task : {0, 1, 2, 3}) Barrier(task, "last");
  EXPECT_EQ(keys(), 1u);
}

TEST_F(CoordinationTest, ABarrierCanBeCancelled) {
  Asked& waits = Barrier(2, "b");
  Of(0, Method::kCancelBarrier, "b");
  EXPECT_TRUE(waits.is_open()) << "there is none on that agent";
  Of(3, Method::kCancelBarrier, "b");
  EXPECT_EQ(waits.status().code(), Code::kCancelled);
}

TEST_F(CoordinationTest, AShutdownWaitsForAllAndEndsThePolls) {
  RegisterAll();
  Asked& poll = Ask(0, Method::kPollForError);
  Asked& first = Ask(0, Method::kShutdown);
  for (const int32_t task : {1, 2}) Ask(task, Method::kShutdown);
  EXPECT_TRUE(first.is_open());
  agents_[1]->Ended(3);  // task 3 has ended with 0, without a call of Shutdown
  Run();
  EXPECT_TRUE(first.answer->ok());
  EXPECT_EQ(poll.status().code(), Code::kCancelled) << "an orderly end";
}

TEST_F(CoordinationTest, APollIsAnsweredWithTheReasonOfTheRoundsEnd) {
  RegisterAll();
  Asked& poll = Ask(0, Method::kPollForError);
  Asked& waits = Of(1, Method::kGet, "x");
  agents_[0]->End("rank 3 on two was killed by SIGKILL");
  EXPECT_EQ(poll.status().code(), Code::kUnavailable);
  EXPECT_EQ(poll.status().message(), "rank 3 on two was killed by SIGKILL");
  EXPECT_EQ(waits.status().code(), Code::kUnavailable);
  EXPECT_EQ(Ask(1, Method::kPollForError).status().message(), "rank 3 on two was killed by SIGKILL");
}

TEST_F(CoordinationTest, AProcessThatAsksForSyncPointsMaySaveWhileItStops) {
  RegisterAll();
  Asked& poll = Ask(0, Method::kPollForError);
  agents_[0]->Stop("stopped by ann", absl::Seconds(30));
  EXPECT_TRUE(agents_[0]->IsBusy());
  EXPECT_TRUE(Insert(0, "PREEMPTION_CURRENT_COUNTER//job:jax_worker/replica:0/task:0", "17").answer->ok());
  EXPECT_TRUE(Of(0, Method::kGet, "PREEMPTION_CURRENT_COUNTER//job:jax_worker/replica:0/task:0").answer->ok());
  Pass(absl::Seconds(20));
  EXPECT_TRUE(poll.is_open());
  Asked& shutdown = Ask(0, Method::kShutdown);
  for (const int32_t task : {1, 2, 3}) Ask(task, Method::kShutdown);
  EXPECT_TRUE(shutdown.answer->ok()) << "all still meet";
}

TEST_F(CoordinationTest, AProcessThatHasNotSavedIsSentTheReasonShortlyBeforeItIsKilled) {
  RegisterAll();
  Asked& poll = Ask(0, Method::kPollForError);
  agents_[0]->Stop("stopped by ann", absl::Seconds(30));
  agents_[0]->Stop("stopped by bob", absl::Seconds(300));
  Pass(absl::Seconds(27));
  EXPECT_TRUE(poll.is_open());
  Pass(absl::Seconds(1));
  EXPECT_EQ(poll.status().message(), "stopped by ann");
  EXPECT_FALSE(agents_[0]->IsBusy());
}

TEST_F(CoordinationTest, AProcessThatNeverAsksForASyncPointIsNotWaitedFor) {
  RegisterAll();
  Asked& poll = Ask(0, Method::kPollForError);
  agents_[0]->Stop("stopped by ann", absl::Seconds(30));
  Insert(1, "PREEMPTION_CURRENT_COUNTER/1", "0");
  EXPECT_EQ(poll.status().message(), "stopped by ann");
  // The other agent has not learnt of the stop yet. Its processes ask for a sync point, and learn of the stop from
  // their own agent.
  Asked& late = Ask(2, Method::kPollForError);
  EXPECT_TRUE(Insert(3, "PREEMPTION_CURRENT_COUNTER/3", "0").answer->ok());
  EXPECT_TRUE(late.is_open());
  agents_[1]->Stop("stopped by ann", absl::Seconds(30));
  EXPECT_EQ(late.status().message(), "stopped by ann");
}

TEST_F(CoordinationTest, TheCauseFitsIntoATrailer) {
  RegisterAll();
  Asked& poll = Ask(0, Method::kPollForError);
  agents_[0]->End(std::string(20'000, 'x') + "\n");
  EXPECT_LE(poll.status().message().size(), 4000u);
}

TEST_F(CoordinationTest, LivenessIsAnsweredWhenAllOfThemHaveAsked) {
  RegisterAll();
  Request request;
  request.method = Method::kGetAlive;
  request.tasks = {2, 0};
  Asked& first = Ask(0, request);
  EXPECT_TRUE(first.is_open());
  const Reply second = Ask(2, request).answer->value();
  EXPECT_THAT(second.tasks, ElementsAre(0, 2));
  EXPECT_THAT(second.incarnations, ElementsAre(Process(0), Process(2)));
  EXPECT_THAT(first.answer->value().tasks, ElementsAre(0, 2));
  EXPECT_TRUE(Ask(0, request).is_open()) << "the next time";
}

TEST_F(CoordinationTest, StatesAreTheSameFromTheStartToTheEnd) {
  Ask(0, Method::kRegister);
  EXPECT_EQ(Ask(0, Method::kWatchStates).status().code(), Code::kUnavailable);
  RegisterAll();
  const Reply known = Ask(3, Method::kWatchStates).answer->value();
  EXPECT_THAT(known.tasks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(known.incarnations, ElementsAre(Process(0), Process(1), Process(2), Process(3)));
  Request request;
  request.method = Method::kGetStates;
  request.tasks = {2, 0, 2};
  EXPECT_THAT(Ask(0, request).answer->value().tasks, ElementsAre(2, 0, 2)) << "as it was asked";
  EXPECT_THAT(Ask(0, request).answer->value().incarnations, ElementsAre(Process(2), Process(0), Process(2)));
  request.tasks = {9};
  EXPECT_EQ(Ask(0, request).status().code(), Code::kInvalidArgument);
  request.method = Method::kWatchStates;
  request.tasks = {};
  request.version = known.version;
  Asked& watch = Ask(0, request);
  EXPECT_TRUE(watch.is_open());
  agents_[0]->End("rank 3 was killed");
  EXPECT_EQ(watch.status().message(), "rank 3 was killed");
}

}  // namespace
}  // namespace muster::jax
