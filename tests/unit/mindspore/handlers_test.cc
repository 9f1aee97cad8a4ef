#include "common/mindspore/handlers.h"

#include <gtest/gtest.h>

#include "common/base/clock.h"

namespace muster::mindspore {
namespace {

// A store that gives every call the answer that the test has set: `read` or `change`.
class Troubled final : public JobStore {
 public:
  void Get(const std::string&, ValueDone done) override { done(read); }
  void Wait(const std::string&, std::chrono::milliseconds, ValueDone done) override { done(read); }
  void Set(const std::string&, const std::string&, Lifetime, Done done) override { done(change); }
  void Delete(const std::string&, Done done) override { done(change); }
  void Add(const std::string&, std::int64_t, Lifetime, NumberDone done) override { done(change); }
  void CompareAndSet(const std::string&, const std::optional<std::string>&, const std::string&, Lifetime,
                     ValueDone done) override {
    done(change);
  }
  void List(const std::string&, const std::string&, std::uint32_t, ListDone done) override { done(change); }

  absl::StatusOr<std::optional<std::string>> read = std::optional<std::string>();
  absl::Status change = absl::UnknownError("not told");
};

class OneStore final : public Cluster {
 public:
  explicit OneStore(JobStore& store) : store_(store) {}
  Admission Register(const Peer&, const Registration&) override { return Refuse("no"); }
  LeaveResult Unregister(const Peer&, const std::string&) override { return LeaveResult::kUnknownNode; }
  std::optional<Health> Heartbeat(const Peer&, const std::string&) override { return std::nullopt; }
  std::optional<std::vector<std::string>> HostNames(const Peer&, const std::string&) override { return std::nullopt; }
  std::optional<std::string> Published(const Peer&, const std::string&) override { return std::nullopt; }
  JobStore& Store(const Peer&) override { return store_; }
  void ConnectionClosed(const Peer&) override {}

 private:
  JobStore& store_;
};

class HandlersTest : public testing::Test {
 protected:
  // The number in the answer; std::nullopt: there is no answer yet.
  std::optional<uint32_t> Ask(uint32_t number, const std::string& key) {
    Metadata metadata;
    metadata.set_name(key);
    metadata.set_value("1");
    std::optional<uint32_t> answered;
    const Answer answer = HandleRequest(cluster_, Peer{}, kDialect, number, metadata.SerializeAsString(), counted_,
                                        [&](const Answer& later) { answered = later.number; });
    EXPECT_EQ(answer.kind, Answer::Kind::kPending);
    EXPECT_EQ(answer.number, NotThereNumber(kDialect)) << "what to say when its time is up";
    return answered;
  }

  static constexpr Dialect kDialect = Dialect::kNew;
  const std::shared_ptr<CountedLog> counted_ = std::make_shared<CountedLog>(Clock::System());
  Troubled store_;
  OneStore cluster_{store_};
};

TEST_F(HandlersTest, WhatTheStoreCannotTellIsLeftOpen) {
  for (const absl::Status& trouble : {absl::UnavailableError("away"), absl::DeadlineExceededError("slow"),
                                      absl::FailedPreconditionError("the round is over")}) {
    store_.read = trouble;
    store_.change = trouble;
    EXPECT_EQ(Ask(kReadMetadata, "x"), std::nullopt) << trouble;
    EXPECT_EQ(Ask(kDeleteMetadata, "x"), std::nullopt) << trouble;
    EXPECT_EQ(Ask(AddNumber(kDialect), "x"), std::nullopt) << trouble;
    store_.read = std::optional<std::string>("there");
    EXPECT_EQ(Ask(kDeleteMetadata, "x"), std::nullopt) << trouble;
  }
  store_.read = absl::UnavailableError("away");
  EXPECT_EQ(Ask(kReadMetadata, "hccl_world_group_info_0"), std::nullopt);
}

TEST_F(HandlersTest, ADeletionForWhichThereIsNoRoomIsLeftOpen) {
  store_.read = std::optional<std::string>("there");
  store_.change = absl::ResourceExhaustedError("too many changes wait");
  EXPECT_EQ(Ask(kDeleteMetadata, "x"), std::nullopt) << "it is still there";
}

TEST_F(HandlersTest, ANameThatIsTooLongIsNotRepeated) {
  Metadata metadata;
  metadata.set_name(std::string(100'000, 'k'));
  metadata.set_value("1");
  for (const uint32_t number : {kReadMetadata, kDeleteMetadata, AddNumber(kDialect)}) {
    const Answer answer =
        HandleRequest(cluster_, Peer{}, kDialect, number, metadata.SerializeAsString(), counted_, nullptr);
    EXPECT_EQ(answer.kind, Answer::Kind::kReply) << number;
    EXPECT_EQ(answer.number, NotThereNumber(kDialect)) << number;
    EXPECT_EQ(answer.body, "") << number;
  }
}

TEST_F(HandlersTest, WhatIsCertainlyNotThereIsSaidSoAtOnce) {
  EXPECT_EQ(Ask(kReadMetadata, "x"), NotThereNumber(kDialect));
  EXPECT_EQ(Ask(kDeleteMetadata, "x"), NotThereNumber(kDialect));
  store_.read = absl::DeadlineExceededError("the key was not set in time");
  EXPECT_EQ(Ask(kReadMetadata, "hccl_world_group_info_0"), NotThereNumber(kDialect));
  store_.read = store_.change = absl::InvalidArgumentError("too long for a key");
  EXPECT_EQ(Ask(kReadMetadata, "x"), NotThereNumber(kDialect));
  EXPECT_EQ(Ask(kDeleteMetadata, "x"), NotThereNumber(kDialect));
  EXPECT_EQ(Ask(AddNumber(kDialect), "x"), NotThereNumber(kDialect));
}

}  // namespace
}  // namespace muster::mindspore
