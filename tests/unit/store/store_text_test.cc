#include "worker_agent/gateway/chassis/store_text.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"
#include "tests/unit/common/silent_job_store.h"

namespace muster::agent {
namespace {

class StoreTextTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 3 * kMaxStoreValueBytes;  // four pieces, with the length

  void Read(size_t bytes) {
    ReadText(store_, clock_, {"t", size_t{1} << 20, clock_.Read().monotonic + absl::Seconds(4), bytes},
             [this](absl::StatusOr<std::string> text) { results_.push_back(std::move(text)); });
  }
  void Put(size_t piece, const std::string& value) {
    store_.Set(absl::StrCat("t/", piece), value, Lifetime::kRound, [](const absl::Status&) {});
  }
  // The codes of all answers.
  std::vector<absl::StatusCode> Codes() const {
    std::vector<absl::StatusCode> codes;
    for (const auto& text : results_) codes.push_back(text.status().code());
    return codes;
  }

  ManualClock clock_;
  MemoryJobStore store_{clock_};
  std::vector<absl::StatusOr<std::string>> results_;
};

TEST_F(StoreTextTest, ComesWithItsPiecesInAnyOrder) {
  for (const size_t known : {kBytes, size_t{0}}) {
    results_.clear();
    store_.BeginRound();
    Read(known);
    const std::string text = absl::StrCat(std::string(kMaxStoreValueBytes, 'a'), std::string(kMaxStoreValueBytes, 'b'),
                                          std::string(kMaxStoreValueBytes, 'c'));
    const std::string all = LengthText(text.size()) + text;
    for (const size_t piece : {3, 0, 2, 1}) {
      EXPECT_TRUE(results_.empty());
      Put(piece, all.substr(piece * kMaxStoreValueBytes, kMaxStoreValueBytes));
    }
    ASSERT_EQ(Codes(), std::vector{absl::StatusCode::kOk});
    EXPECT_TRUE(*results_[0] == text);
  }
}

TEST_F(StoreTextTest, IsRefusedWhereItsLengthIsNotWhatItSays) {
  const std::string full(kMaxStoreValueBytes, 'x');
  const std::string first = full.substr(kLengthBytes);
  const std::vector<std::vector<std::string>> wrong = {
      {"abc"},                                      // no length
      {LengthText((size_t{1} << 20) + 1) + first},  // above the reader's limit
      {LengthText(5) + "four"},                     // less than the length says
      {LengthText(5) + "sixsix"},                   // more than the length says
      {LengthText(kBytes) + first, full, ""},       // an empty piece
      {LengthText(kBytes) + first, full, full, full},
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    results_.clear();
    store_.BeginRound();
    for (size_t piece = 0; piece < wrong[i].size(); ++piece) Put(piece, wrong[i][piece]);
    Read(0);
    EXPECT_EQ(Codes(), std::vector{absl::StatusCode::kInvalidArgument}) << "case " << i;
  }
}

TEST_F(StoreTextTest, IsRefusedWhereItHasFewerPiecesThanTheReaderKnows) {
  Put(0, LengthText(4) + "four");
  Read(kBytes);
  EXPECT_EQ(Codes(), std::vector{absl::StatusCode::kInvalidArgument});
}

class WaitsByHand final : public SilentJobStore {
 public:
  void Wait(const std::string& key, std::chrono::milliseconds, ValueDone done) override {
    waiting.emplace_back(key, std::move(done));
  }

  std::deque<std::pair<std::string, ValueDone>> waiting;
};

TEST_F(StoreTextTest, OfManyPiecesEightAreAskedForAtOnce) {
  constexpr size_t kPieces = 40;
  const std::string text(kPieces * kMaxStoreValueBytes - kLengthBytes, 'x');
  const std::string all = LengthText(text.size()) + text;
  for (const size_t known : {text.size(), size_t{0}}) {
    WaitsByHand store;
    results_.clear();
    ReadText(store, clock_, {"t", text.size(), MonotonicTime::Never(), known},
             [this](absl::StatusOr<std::string> read) { results_.push_back(std::move(read)); });
    EXPECT_EQ(store.waiting.size(), known == 0 ? 1u : 8u);
    for (size_t piece = 0; piece < kPieces; ++piece) {
      ASSERT_EQ(store.waiting.front().first, absl::StrCat("t/", piece));
      const auto done = std::move(store.waiting.front().second);
      store.waiting.pop_front();
      done(all.substr(piece * kMaxStoreValueBytes, kMaxStoreValueBytes));
      EXPECT_EQ(store.waiting.size(), std::min<size_t>(8, kPieces - piece - 1));
    }
    ASSERT_EQ(Codes(), std::vector{absl::StatusCode::kOk});
    EXPECT_TRUE(*results_[0] == text);
  }
}

TEST_F(StoreTextTest, IsToldOnceThatItDidNotCome) {
  Read(kBytes);
  Put(2, std::string(kMaxStoreValueBytes, 'x'));
  clock_.Advance(absl::Seconds(5));
  store_.Tick();
  EXPECT_EQ(Codes(), std::vector{absl::StatusCode::kDeadlineExceeded});
}

}  // namespace
}  // namespace muster::agent
