// The store's limits, and its snapshot. The golden scripts test each request.
#include "scheduler/core/state/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "scheduler/core/core.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Jobs of one node each, in their first round.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() : core_(CoreOptions(), "cluster") { core_.Start(Now()); }

  void Form(const std::string& job) {
    JoinRequested event;
    event.stream = ++streams_;
    event.peer_address = "10.0.0.1";
    v1::Join& join = event.join;
    join.set_protocol_version(kProtocolVersion);
    join.set_job_id(job);
    join.set_node_id("a");
    join.set_incarnation(1);
    join.set_connect_seq(1);
    join.mutable_settings()->set_worker_num(1);
    join.mutable_node()->set_role(v1::ROLE_WORKER);
    join.mutable_node()->set_machine_id("m");
    join.mutable_node()->add_slots();
    core_.Apply(event, Now());
  }

  template <typename Request>
  Answer Ask(const std::string& job, Request request) {
    v1::StoreCaller& caller = *request.mutable_caller();
    caller.set_job_id(job);
    caller.set_run(1);
    caller.set_round(1);
    caller.set_node_id("a");
    caller.set_incarnation(1);
    for (Effect& effect : core_.Apply(StoreRequested{++queries_, std::move(request), ""}, Now())) {
      if (auto* answer = std::get_if<Answer>(&effect)) return std::move(*answer);
    }
    return Answer{0, absl::OkStatus(), {}};
  }
  absl::Status Set(const std::string& job, const std::string& key, const std::string& value) {
    v1::StoreSet set;
    set.set_key(key);
    set.set_value(value);
    set.set_lifetime(v1::LIFETIME_RUN);
    return Ask(job, std::move(set)).status;
  }
  v1::StoreReply Get(const std::string& job, const std::string& key) {
    v1::StoreGet get;
    get.set_key(key);
    return std::get<v1::StoreReply>(Ask(job, std::move(get)).reply);
  }

  Core core_;
  StreamId streams_ = 0;
  QueryId queries_ = 0;
};

TEST_F(StoreTest, AJobKeeps64Mebibytes) {
  Form("train");
  const std::string value(kMaxStoreValueBytes, 'v');
  size_t kept = 0;
  while (kept < 2000 && Set("train", absl::StrCat("k", kept), value).ok()) ++kept;
  const size_t each = kMaxStoreValueBytes + kStoredOverheadBytes;
  EXPECT_EQ(kept, kMaxStoreBytes / (each + 6)) << "keys and writers count, too, and what it takes to keep them";
  EXPECT_EQ(Set("train", "one more", value).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Set("train", "k0", value).ok()) << "what takes the place of another value fits";
  EXPECT_TRUE(Set("train", "k0", "").ok());
  EXPECT_TRUE(Set("train", "one more", value.substr(100)).ok()) << "and what fits into the place of a smaller one";
}

TEST_F(StoreTest, SmallValuesCountWithWhatItTakesToKeepThem) {
  Form("train");
  const std::string key(122, 'k');
  size_t kept = 0;
  while (kept < kMaxStoreKeys && Set("train", absl::StrCat(key, 100'000 + kept), "").ok()) ++kept;
  EXPECT_EQ(kept, kMaxStoreBytes / (kStoredOverheadBytes + 128 + 1));
  core_.CheckInvariants();
}

TEST_F(StoreTest, AListHasTheKeysThatBeginAlikeInTheirOrderAndInPages) {
  Form("train");
  for (const char* key : {"a", "d/2", "d/1", "d/3", "d", "e"}) ASSERT_TRUE(Set("train", key, key).ok());
  v1::StoreList list;
  list.set_key("d/");
  list.set_limit(2);
  const auto first = std::get<v1::StoreReply>(Ask("train", list).reply);
  ASSERT_EQ(first.entries_size(), 2);
  EXPECT_EQ(first.entries(0).key(), "d/1");
  EXPECT_EQ(first.entries(0).value(), "d/1");
  EXPECT_EQ(first.entries(1).key(), "d/2");
  EXPECT_TRUE(first.has_more());
  list.set_after("d/2");
  const auto second = std::get<v1::StoreReply>(Ask("train", list).reply);
  ASSERT_EQ(second.entries_size(), 1);
  EXPECT_EQ(second.entries(0).key(), "d/3");
  EXPECT_FALSE(second.has_more());
  list.set_after("zzz");
  EXPECT_EQ(std::get<v1::StoreReply>(Ask("train", list).reply).entries_size(), 0);
  list.set_after("a");
  list.set_limit(0);
  EXPECT_EQ(std::get<v1::StoreReply>(Ask("train", list).reply).entries_size(), 3) << "behind `after`, and no others";
}

TEST_F(StoreTest, AnAnswerToAListIsAboutAMebibyteAtMost) {
  Form("train");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Set("train", absl::StrCat("d/", i), std::string(kMaxStoreValueBytes, 'v')).ok());
  }
  v1::StoreList list;
  list.set_key("d/");
  const auto reply = std::get<v1::StoreReply>(Ask("train", list).reply);
  EXPECT_LE(reply.ByteSizeLong(), kMaxStoreListBytes);
  EXPECT_GE(reply.entries_size(), 10);
  EXPECT_TRUE(reply.has_more());
}

TEST_F(StoreTest, AChangeThatComesAgainIsAnsweredWithTheVersionOfItsFirstTime) {
  Form("train");
  v1::StoreSet set;
  set.set_key("x");
  set.set_value("mine");
  set.set_lifetime(v1::LIFETIME_ROUND);
  set.set_number(1);
  EXPECT_EQ(std::get<v1::StoreReply>(Ask("train", set).reply).version(), 1u);
  EXPECT_TRUE(Set("train", "x", "theirs").ok());
  EXPECT_EQ(std::get<v1::StoreReply>(Ask("train", set).reply).version(), 1u);
  EXPECT_EQ(Get("train", "x").version(), 2u);
  v1::StoreAdd add;
  add.set_key("n");
  add.set_delta(5);
  add.set_lifetime(v1::LIFETIME_ROUND);
  add.set_number(2);
  EXPECT_EQ(std::get<v1::StoreReply>(Ask("train", add).reply).version(), 3u);
  EXPECT_TRUE(Set("train", "n", "7").ok());
  const auto again = std::get<v1::StoreReply>(Ask("train", add).reply);
  EXPECT_EQ(again.version(), 3u);
  EXPECT_EQ(again.number(), 5);
  Core recovered(CoreOptions(), "another");
  recovered.Recover(core_.TakeSnapshotLater().make());
  EXPECT_EQ(recovered.DebugState(), core_.DebugState()) << "which shows the version";
}

v1::StoreBatch BatchOf(uint64_t number, const std::vector<std::string>& keys) {
  v1::StoreBatch batch;
  batch.set_number(number);
  for (const std::string& key : keys) {
    v1::StoreEdit& edit = *batch.add_edits();
    edit.set_key(key);
    edit.set_value(absl::StrCat(key, number));
    edit.set_lifetime(v1::LIFETIME_ROUND);
  }
  return batch;
}

TEST_F(StoreTest, ABatchIsMadeAsAWholeAndOnce) {
  Form("train");
  ASSERT_TRUE(Set("train", "old", "1").ok());
  v1::StoreBatch batch = BatchOf(1, {"a", "b"});
  batch.add_edits()->set_key("old");
  batch.add_edits()->set_key("never there");
  const Answer first = Ask("train", batch);
  EXPECT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(Get("train", "a").value(), "a1");
  EXPECT_FALSE(Get("train", "old").has_value());
  ASSERT_TRUE(Set("train", "a", "another's").ok());
  const Answer again = Ask("train", batch);
  EXPECT_TRUE(again.status.ok());
  EXPECT_EQ(Get("train", "a").value(), "another's") << "it takes effect once";
  EXPECT_EQ(std::get<v1::StoreReply>(again.reply).version(), std::get<v1::StoreReply>(first.reply).version());
  EXPECT_TRUE(Ask("train", BatchOf(5, {"c"})).status.ok()) << "the next number is behind all of it";
  EXPECT_EQ(Ask("train", BatchOf(3, {"d", "e"})).status.code(), absl::StatusCode::kAborted) << "it comes too late";
}

TEST_F(StoreTest, OfABatchWithOneThatCannotBeMadeNothingIsMade) {
  Form("train");
  ASSERT_TRUE(Set("train", "b", "1").ok());
  v1::StoreBatch batch = BatchOf(1, {"a", "b", "c"});
  for (v1::StoreEdit& edit : *batch.mutable_edits()) edit.set_only_new(true);
  EXPECT_EQ(Ask("train", batch).status.code(), absl::StatusCode::kAlreadyExists);
  for (const char* key : {"a", "c"}) EXPECT_FALSE(Get("train", key).has_value()) << key;
  EXPECT_TRUE(Ask("train", BatchOf(4, {"a"})).status.ok());

  const std::string large(kMaxStoreValueBytes, 'v');
  for (int i = 0; Set("train", absl::StrCat("k", i), large).ok(); ++i) {
  }
  v1::StoreBatch last = BatchOf(5, {"d", "e"});
  last.mutable_edits(1)->set_value(large);
  EXPECT_EQ(Ask("train", last).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(Get("train", "d").has_value());
  core_.CheckInvariants();
}

// A crash may cut a batch between two records.
TEST_F(StoreTest, TheRestOfABatchIsMadeWhenItComesAgain) {
  Form("train");
  v1::StoreBatch all = BatchOf(1, {"a", "b", "c"});
  v1::StoreBatch part = all;
  part.mutable_edits()->RemoveLast();
  ASSERT_TRUE(Ask("train", part).status.ok());
  ASSERT_TRUE(Set("train", "a", "another's").ok());
  for (v1::StoreEdit& edit : *all.mutable_edits()) edit.set_only_new(true);
  EXPECT_TRUE(Ask("train", all).status.ok());
  EXPECT_EQ(Get("train", "a").value(), "another's");
  EXPECT_EQ(Get("train", "c").value(), "c1");
}

TEST_F(StoreTest, AllJobsTogetherHaveALimit) {
  const std::string value(kMaxStoreValueBytes, 'v');
  size_t kept = 0;
  for (int job = 0; job < 5; ++job) {
    const std::string name = absl::StrCat("job", job);
    Form(name);
    for (int i = 0; i < 1000; ++i) kept += Set(name, absl::StrCat("k", i), value).ok() ? value.size() : 0;
  }
  EXPECT_LE(kept, kMaxStoreBytesInAll);
  EXPECT_GT(kept, kMaxStoreBytesInAll - (2 << 20)) << "the rest is what it takes to keep them";
}

TEST_F(StoreTest, AJobKeeps200000Keys) {
  Form("train");
  for (size_t i = 0; i < kMaxStoreKeys; ++i) ASSERT_TRUE(Set("train", absl::StrCat(i), "").ok());
  EXPECT_EQ(Set("train", "one more", "").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Set("train", "7", "another value").ok());
  core_.CheckInvariants();
}

TEST_F(StoreTest, WaitsAreBounded) {
  Form("train");
  v1::StoreWait wait;
  wait.set_key("never");
  wait.set_limit_ms(5000);
  for (size_t i = 0; i < kMaxStoreWaits; ++i) ASSERT_EQ(Ask("train", wait).query, 0u) << "not answered yet";
  EXPECT_EQ(Ask("train", wait).status.code(), absl::StatusCode::kResourceExhausted);
  core_.CheckInvariants();
}

TEST_F(StoreTest, ASnapshotHoldsTheValuesOfItsMoment) {
  Form("train");
  ASSERT_TRUE(Set("train", "x", "then").ok());
  const std::string state = core_.DebugState();
  const Core::LaterSnapshot later = core_.TakeSnapshotLater();
  ASSERT_TRUE(Set("train", "x", "now").ok());
  Core recovered(CoreOptions(), "another");
  recovered.Recover(later.make());
  EXPECT_EQ(recovered.DebugState(), state);
  recovered.Start(Now());
  recovered.CheckInvariants();
  EXPECT_EQ(Get("train", "x").value(), "now");
}

TEST(RunStoreTest, CountsBytesAndChanges) {
  RunStore store;
  v1::StoredValue value;
  value.set_key("key");
  value.set_value("12345");
  value.set_lifetime(v1::LIFETIME_ROUND);
  store.Put(value);
  EXPECT_EQ(store.bytes(), kStoredOverheadBytes + 8);
  value.set_value("1");
  store.Put(value);
  EXPECT_EQ(store.bytes(), kStoredOverheadBytes + 4);
  value.set_key("kept");
  value.set_lifetime(v1::LIFETIME_RUN);
  store.Put(value);
  store.ClearRound();
  EXPECT_EQ(store.Find("key"), nullptr);
  EXPECT_EQ(store.bytes(), kStoredOverheadBytes + 5);
  store.Erase("kept");
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_EQ(store.version(), 4u);
}

TEST(StoreWaitsTest, EachIsTakenOnce) {
  StoreWaits waits;
  const MonotonicTime start = MonotonicTime::FromNanoseconds(1);
  waits.Add("x", start + absl::Seconds(2), 1);
  waits.Add("x", start + absl::Seconds(1), 2);
  waits.Add("y", start + absl::Seconds(3), 3);
  EXPECT_EQ(waits.Next(), start + absl::Seconds(1));
  EXPECT_THAT(waits.TakeWaitingFor("z"), IsEmpty());
  EXPECT_THAT(waits.TakeDue(start + absl::Seconds(1)), ElementsAre(2));
  EXPECT_THAT(waits.TakeWaitingFor("x"), ElementsAre(1));
  EXPECT_THAT(waits.TakeAll(), ElementsAre(3));
  EXPECT_TRUE(waits.Next().is_never());
}

}  // namespace
}  // namespace muster::scheduler
