// Histories of clients of three relays with links that are delayed and cut all the time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/torch_store/cutter.h"
#include "tests/unit/torch_store/linearizable.h"
#include "tests/unit/torch_store/relay_fixture.h"

namespace muster::torch_store {
namespace {

class History {
 public:
  History(uint16_t port, int number) : client_(port), random_(static_cast<unsigned>(number)), number_(number) {
    client_.Send(Hello());
  }

  void Run(int operations) {
    for (int i = 0; i < operations && !failed_; ++i) {
      const size_t key = random_() % 4;
      if (key < 2) {
        OnValue(key, i);
      } else {
        OnQueue(key, i);
      }
    }
  }
  bool failed() const { return failed_; }
  std::vector<Operation> of_key[4];

 private:
  static int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  std::string TakeText() {
    const std::string length = client_.Receive(8);
    if (length.size() != 8) failed_ = true;
    uint64_t size = 0;
    if (!failed_) std::memcpy(&size, length.data(), 8);
    return client_.Receive(size);
  }
  int64_t TakeNumber() {
    const std::string bytes = client_.Receive(8);
    if (bytes.size() != 8) failed_ = true;
    int64_t number = 0;
    if (!failed_) std::memcpy(&number, bytes.data(), 8);
    return number;
  }
  void OnValue(size_t key, int i) {
    const std::string name = absl::StrCat("/", key);
    Operation done;
    done.begun = Now();
    if (key == 0) {
      done.kind = Operation::Kind::kAdd;
      done.number = 1 + static_cast<int64_t>(random_() % 3);
      client_.Send(Ask(Query::kAdd, Text(name) + Bytes(done.number)));
      done.answer = absl::StrCat(TakeNumber());
    } else if (random_() % 2 == 0) {
      done.kind = Operation::Kind::kCompareSet;
      done.expected = last_;
      done.value = absl::StrCat(number_, ".", i);
      client_.Send(Ask(Query::kCompareSet, Texts({name, done.expected, done.value})));
      done.answer = last_ = TakeText();
    } else {
      client_.Send(Get(name));
      done.answer = last_ = TakeText();
    }
    done.ended = Now();
    of_key[key].push_back(done);
  }
  void OnQueue(size_t key, int i) {
    const std::string name = absl::StrCat("/q", key);
    Operation done;
    done.begun = Now();
    if (random_() % 2 == 0) {
      done.kind = Operation::Kind::kPush;
      done.value = absl::StrCat(number_, ".", i);
      client_.Send(Ask(Query::kQueuePush, Texts({name, done.value})));
      if (!client_.Ping()) failed_ = true;  // it has no answer of its own
    } else {
      done.kind = Operation::Kind::kPop;
      client_.Send(Ask(Query::kQueuePop, Text(name)));
      if (TakeNumber() > 0) done.answer = TakeText();
    }
    done.ended = Now();
    of_key[key].push_back(done);
  }
  static std::string Get(const std::string& key) { return Ask(Query::kGet, Text(key)); }

  SocketClient client_;
  std::mt19937 random_;
  const int number_;
  std::string last_;
  bool failed_ = false;
};

TEST(Linearizable, IsToldFromWhatIsNot) {
  using K = Operation::Kind;
  const std::vector<Operation> good = {{.kind = K::kAdd, .number = 1, .answer = "3", .begun = 0, .ended = 9},
                                       {.kind = K::kAdd, .number = 2, .answer = "2", .begun = 1, .ended = 5},
                                       {.kind = K::kGet, .answer = "3", .begun = 8, .ended = 10}};
  EXPECT_TRUE(IsLinearizable(good));
  std::vector<Operation> stale = good;
  stale[2] = {.kind = K::kGet, .answer = "2", .begun = 10, .ended = 11};
  EXPECT_FALSE(IsLinearizable(stale));
  std::vector<Operation> twice = good;
  twice[0].answer = "4";
  EXPECT_FALSE(IsLinearizable(twice));
  const std::vector<Operation> doubled = {{.kind = K::kPush, .value = "x", .begun = 0, .ended = 1},
                                          {.kind = K::kPop, .answer = "x", .begun = 2, .ended = 5},
                                          {.kind = K::kPop, .answer = "x", .begun = 3, .ended = 6}};
  EXPECT_FALSE(IsLinearizable(doubled));
}

class Histories : public RelayTest, public testing::WithParamInterface<int> {};

TEST_P(Histories, AreLinearizable) {
  StartStore();
  std::vector<std::unique_ptr<Cutter>> networks;
  std::vector<std::unique_ptr<History>> histories;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    networks.push_back(std::make_unique<Cutter>(port_, 1500, static_cast<unsigned>(GetParam() * 10 + i)));
    const uint16_t port = AddRelay(networks.back()->port(), absl::StrCat("n", i));
    for (int j = 0; j < 2; ++j) {
      histories.push_back(std::make_unique<History>(port, GetParam() * 100 + i * 10 + j));
    }
  }
  threads.reserve(histories.size());
  for (const auto& history : histories) threads.emplace_back([&history] { history->Run(30); });
  for (std::thread& thread : threads) thread.join();
  int cuts = 0;
  for (const auto& network : networks) cuts += network->connections() - 1;
  EXPECT_GT(cuts, 3);
  for (size_t key = 0; key < 4; ++key) {
    std::vector<Operation> all;
    for (const auto& history : histories) {
      ASSERT_FALSE(history->failed());
      all.insert(all.end(), history->of_key[key].begin(), history->of_key[key].end());
    }
    ASSERT_LE(all.size(), 64U);
    EXPECT_TRUE(IsLinearizable(all)) << "key " << key << " of seed " << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Histories, testing::Range(1, 6));

}  // namespace
}  // namespace muster::torch_store
