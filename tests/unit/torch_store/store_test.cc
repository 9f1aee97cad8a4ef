// Semantics as measured with PyTorch 2.13's own server; tests/e2e/torch_store compares with it.
#include "worker_agent/gateway/torch_store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/unit/torch_store/socket_channel.h"
#include "tests/unit/torch_store/wire.h"

namespace muster::torch_store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class StoreTest : public testing::Test {
 protected:
  static Request Make(Query query, std::vector<std::string> keys, std::vector<std::string> values = {},
                      int64_t number = 0) {
    Request request;
    request.query = query;
    request.keys = std::move(keys);
    request.values = std::move(values);
    request.number = number;
    return request;
  }

  // Returns the bytes of the answer.
  std::string Do(Request request, uint64_t client = 1, Dialect dialect = Dialect::k2) {
    Output output;
    last_ = store_.Apply(client, dialect, std::move(request), output);
    return BytesOf(output);
  }
  std::string Set(const std::string& key, const std::string& value) { return Do(Make(Query::kSet, {key}, {value})); }
  std::string Get(const std::string& key) { return Do(Make(Query::kGet, {key})); }
  std::string Wait(uint64_t client, std::vector<std::string> keys) {
    return Do(Make(Query::kWait, std::move(keys)), client);
  }
  std::string Barrier(uint64_t client, int64_t world) { return Do(Make(Query::kBarrier, {"/b"}, {}, world), client); }

  static std::string BytesOf(Output& output) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    SocketChannel stream{UniqueFd(ends[0])};
    const UniqueFd other(ends[1]);
    std::vector<char> scratch(64 * 1024);
    EXPECT_EQ(output.WriteTo(stream, scratch), Stream::Io::kDone);
    std::string bytes(1 << 16, '\0');
    const ssize_t size = recv(other.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return bytes.substr(0, size > 0 ? static_cast<size_t>(size) : 0);
  }

  std::vector<uint64_t> Woken() { return std::exchange(woken_, {}); }

  std::vector<uint64_t> woken_;
  absl::Status last_;
  Store store_{Limits{.stored_bytes = 64 * 1024, .wait_bytes = 5 * 260},
               [this](uint64_t client) { woken_.push_back(client); }};
};

TEST_F(StoreTest, SetGetDelete) {
  EXPECT_EQ(Set("/a", "1"), "");
  EXPECT_EQ(Get("/a"), Text("1"));
  EXPECT_EQ(Do(Make(Query::kGetNumKeys, {})), Bytes<int64_t>(1));
  EXPECT_EQ(Do(Make(Query::kDeleteKey, {"/a"})), Bytes<int64_t>(1));
  EXPECT_EQ(Do(Make(Query::kDeleteKey, {"/a"})), Bytes<int64_t>(0));
  EXPECT_EQ(Get("/a"), Text(""));
  EXPECT_EQ(Do(Make(Query::kGetNumKeys, {})), Bytes<int64_t>(0));
}

TEST_F(StoreTest, OldClientsAreClosedWhereAKeyIsMissing) {
  EXPECT_EQ(Do(Make(Query::kGet, {"/a"}), 1, Dialect::k1), "");
  EXPECT_THAT(std::string(last_.message()), HasSubstr("not there"));
}

TEST_F(StoreTest, CompareSet) {
  const auto compare = [this](const std::string& expected, const std::string& desired) {
    return Do(Make(Query::kCompareSet, {"/a"}, {expected, desired}));
  };
  EXPECT_EQ(compare("x", "1"), Text("x"));  // the key is missing, and a value was expected
  EXPECT_EQ(Do(Make(Query::kCheck, {"/a"})), std::string(1, 1));
  EXPECT_EQ(compare("", "1"), Text("1"));
  EXPECT_EQ(compare("x", "2"), Text("1"));
  EXPECT_EQ(compare("1", "2"), Text("2"));
  EXPECT_EQ(Get("/a"), Text("2"));
}

TEST_F(StoreTest, AddReadsNumbersAsTheReferenceDoes) {
  const auto add = [this](int64_t number) { return Do(Make(Query::kAdd, {"/n"}, {}, number)); };
  EXPECT_EQ(add(5), Bytes<int64_t>(5));
  EXPECT_EQ(add(-7), Bytes<int64_t>(-2));
  EXPECT_EQ(Get("/n"), Text("-2"));
  Set("/n", "12abc");
  EXPECT_EQ(add(1), Bytes<int64_t>(13));
  Set("/n", std::to_string(int64_t{1} << 62));
  EXPECT_EQ(add(int64_t{1} << 62), Bytes<int64_t>(INT64_MIN));
  for (const char* const text : {"", "abc", "99999999999999999999"}) {
    Set("/n", text);
    EXPECT_EQ(add(1), "");
    EXPECT_THAT(std::string(last_.message()), HasSubstr("not a number")) << text;
  }
}

TEST_F(StoreTest, WaitEndsWhenTheLastKeyHasCome) {
  EXPECT_EQ(Wait(1, {}), kStop);
  EXPECT_EQ(Wait(1, {"/a", "/b", "/a"}), "");
  EXPECT_EQ(Wait(2, {"/b"}), "");
  Set("/b", "1");
  EXPECT_THAT(Woken(), ElementsAre(2));
  Do(Make(Query::kDeleteKey, {"/b"}));  // what has arrived counts
  Do(Make(Query::kAdd, {"/a"}, {}, 1));
  EXPECT_THAT(Woken(), ElementsAre(1));
  EXPECT_EQ(Wait(3, {"/a"}), kStop);
}

TEST_F(StoreTest, AppendMultiSetAndACompareSetThatStoresWakeToo) {
  for (uint64_t client = 1; client <= 4; ++client) Wait(client, {"/" + std::to_string(client)});
  Do(Make(Query::kAppend, {"/1"}, {"x"}));
  Do(Make(Query::kMultiSet, {"/2", "/3"}, {"x", "y"}));
  Do(Make(Query::kCompareSet, {"/4"}, {"no", "x"}));
  EXPECT_THAT(Woken(), ElementsAre(1, 2, 3));
  Do(Make(Query::kCompareSet, {"/4"}, {"", "x"}));
  EXPECT_THAT(Woken(), ElementsAre(4));
}

TEST_F(StoreTest, AWaitIsOverWhenItIsCancelledOrItsClientIsGone) {
  Wait(1, {"/a"});
  Wait(2, {"/a", "/b"});
  EXPECT_EQ(Do(Make(Query::kCancelWait, {}), 1), std::string(1, 1));
  store_.Forget(2);
  Set("/a", "1");
  Set("/b", "1");
  EXPECT_THAT(Woken(), IsEmpty());
  EXPECT_EQ(Do(Make(Query::kCancelWait, {}), 1), std::string(1, 1));
}

TEST_F(StoreTest, AClientBeyondTheLimitOfAwaitedKeysIsClosed) {
  Wait(1, {"/a", "/b", "/c"});
  EXPECT_EQ(Wait(2, {"/a", "/b", "/c"}), "");
  EXPECT_THAT(std::string(last_.message()), HasSubstr("the keys that clients wait for take more than"));
  Do(Make(Query::kCancelWait, {}), 1);
  Wait(2, {"/a", "/b", "/c"});
  EXPECT_TRUE(last_.ok());
}

TEST_F(StoreTest, OneClientWaitsForFewThingsAtOnce) {
  Store store(Limits(), [](uint64_t) {});
  Output output;
  for (size_t i = 0; i < kMaxWaitsOfClient; ++i) {
    EXPECT_TRUE(store.Apply(1, Dialect::k2, Make(Query::kWait, {"/" + std::to_string(i)}), output).ok());
  }
  EXPECT_THAT(std::string(store.Apply(1, Dialect::k2, Make(Query::kWait, {"/x"}), output).message()),
              HasSubstr("it waits for 16 keys or barriers at once"));
  EXPECT_FALSE(store.Apply(1, Dialect::k2, Make(Query::kBarrier, {"/b"}, {}, 2), output).ok());
  EXPECT_TRUE(store.Apply(2, Dialect::k2, Make(Query::kWait, {"/x"}), output).ok());
}

TEST_F(StoreTest, AppendDoesNotChangeWhatIsBeingSent) {
  const std::string first(1000, 'x');
  Set("/a", first);
  Output output;
  EXPECT_TRUE(store_.Apply(1, Dialect::k2, Make(Query::kGet, {"/a"}), output).ok());
  Do(Make(Query::kAppend, {"/a"}, {"y"}));
  EXPECT_EQ(store_.unread_bytes(), first.size());
  EXPECT_EQ(BytesOf(output), Text(first));
  EXPECT_EQ(store_.unread_bytes(), 0U);
  EXPECT_EQ(Get("/a"), Text(first + "y"));
}

TEST_F(StoreTest, MultiGetAnswersInTheOrderOfTheKeys) {
  Set("/a", "1");
  Set("/b", std::string(300, 'b'));
  EXPECT_EQ(Do(Make(Query::kMultiGet, {"/b", "/c", "/a"})), Texts({std::string(300, 'b'), "", "1"}));
}

TEST_F(StoreTest, AQueueWakesOneForEachEntry) {
  EXPECT_EQ(Do(Make(Query::kQueuePop, {"/q"})), Bytes<int64_t>(0));
  Wait(7, {"/q"});
  Wait(3, {"/q"});
  Do(Make(Query::kQueuePush, {"/q"}, {"one"}));
  EXPECT_THAT(Woken(), ElementsAre(7));
  Do(Make(Query::kQueuePush, {"/q"}, {"two"}));
  EXPECT_THAT(Woken(), ElementsAre(3));
  EXPECT_EQ(Wait(9, {"/q"}), kStop);
  EXPECT_EQ(Do(Make(Query::kCheck, {"/q"})), std::string(1, 0));
  EXPECT_EQ(Do(Make(Query::kQueueLen, {"/q"})), Bytes<int64_t>(2));
  EXPECT_EQ(Do(Make(Query::kQueuePop, {"/q"})), Bytes<int64_t>(2) + Text("one"));
  EXPECT_EQ(Do(Make(Query::kQueuePop, {"/q"})), Bytes<int64_t>(1) + Text("two"));
  EXPECT_EQ(Do(Make(Query::kQueueLen, {"/q"})), Bytes<int64_t>(0));
  EXPECT_EQ(Get("/q"), Text(""));  // a key and a queue may have the same name
}

TEST_F(StoreTest, Barrier) {
  EXPECT_EQ(Barrier(1, 3), "");
  EXPECT_EQ(Barrier(2, 3), "");
  EXPECT_THAT(Woken(), IsEmpty());
  EXPECT_EQ(Barrier(3, 3), kStop);
  EXPECT_THAT(Woken(), UnorderedElementsAre(1, 2));
  EXPECT_EQ(Get("/b"), Text("3"));
  EXPECT_EQ(Barrier(4, 3), kStop);
}

TEST_F(StoreTest, AClientThatGaveUpAtABarrierStaysCounted) {
  Barrier(1, 2);
  Do(Make(Query::kCancelWait, {}), 1);
  EXPECT_EQ(Barrier(2, 2), kStop);
  EXPECT_THAT(Woken(), IsEmpty());
}

TEST_F(StoreTest, ListKeys) {
  Set("/a", "1");
  EXPECT_EQ(Do(Make(Query::kListKeys, {})), Bytes<int64_t>(1) + Text("/a"));
}

TEST_F(StoreTest, AFullStoreTakesNothingMoreAndLosesNothing) {
  Set("/a", std::string(60'000, 'x'));
  for (const Query query : {Query::kSet, Query::kAppend, Query::kMultiSet, Query::kQueuePush}) {
    Do(Make(query, {"/b"}, {std::string(8000, 'y')}));
    EXPECT_THAT(std::string(last_.message()), HasSubstr("the store is full"));
  }
  EXPECT_EQ(Do(Make(Query::kCheck, {"/b"})), std::string(1, 1));
  Do(Make(Query::kDeleteKey, {"/a"}));
  Set("/b", std::string(60'000, 'y'));
  EXPECT_TRUE(last_.ok());
}

}  // namespace
}  // namespace muster::torch_store
