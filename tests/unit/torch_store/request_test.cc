#include "worker_agent/gateway/torch_store/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/torch_store/wire.h"
#include "worker_agent/gateway/torch_store/limits.h"

namespace muster::torch_store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case {
  Query query;
  std::string fields;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  int64_t number = 0;
};

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      {Query::kSet, Texts({"/a", "1"}), {"/a"}, {"1"}},
      {Query::kSet, Texts({"/a", ""}), {"/a"}, {""}},
      {Query::kCompareSet, Texts({"/a", "1", "2"}), {"/a"}, {"1", "2"}},
      {Query::kGet, Text("/a"), {"/a"}, {}},
      {Query::kAdd, Text("/a") + Bytes<int64_t>(-3), {"/a"}, {}, -3},
      {Query::kCheck, Counted({"/a", "/b"}), {"/a", "/b"}, {}},
      {Query::kCheck, Counted({}), {}, {}},
      {Query::kWait, Counted({"/a", "/b", "/c"}), {"/a", "/b", "/c"}, {}},
      {Query::kGetNumKeys, "", {}, {}},
      {Query::kDeleteKey, Text("/a"), {"/a"}, {}},
      {Query::kAppend, Texts({"/a", "xy"}), {"/a"}, {"xy"}},
      {Query::kMultiGet, Counted({"/a", "/b"}), {"/a", "/b"}, {}},
      {Query::kMultiSet, Bytes<uint64_t>(2) + Texts({"/a", "1", "/b", "2"}), {"/a", "/b"}, {"1", "2"}},
      {Query::kMultiSet, Bytes<uint64_t>(0), {}, {}},
      {Query::kCancelWait, "", {}, {}},
      {Query::kQueuePush, Texts({"/q", "1"}), {"/q"}, {"1"}},
      {Query::kQueuePop, Text("/q"), {"/q"}, {}},
      {Query::kQueueLen, Text("/q"), {"/q"}, {}},
      {Query::kListKeys, "", {}, {}},
      {Query::kBarrier, Text("/b") + Bytes<int64_t>(8), {"/b"}, {}, 8},
  };
  return *cases;
}

std::vector<Request> All(RequestDecoder& decoder) {
  std::vector<Request> requests;
  while (true) {
    absl::StatusOr<std::optional<Request>> request = decoder.Next();
    EXPECT_TRUE(request.ok()) << request.status();
    if (!request.ok() || !request->has_value()) return requests;
    requests.push_back(**std::move(request));
  }
}

void ExpectAllCases(const std::vector<Request>& requests) {
  ASSERT_EQ(requests.size(), Cases().size());
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].query, Cases()[i].query) << i;
    EXPECT_EQ(requests[i].keys, Cases()[i].keys) << i;
    EXPECT_EQ(requests[i].values, Cases()[i].values) << i;
    EXPECT_EQ(requests[i].number, Cases()[i].number) << i;
  }
}

TEST(RequestTest, AllQueriesWhereverTheirBytesAreCut) {
  std::string stream = Hello();
  for (const Case& one : Cases()) stream += Ask(one.query, one.fields);
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, stream.size()}) {
    RequestDecoder decoder;
    std::vector<Request> requests;
    for (size_t at = 0; at < stream.size(); at += piece) {
      decoder.Append(std::string_view(stream).substr(at, piece));
      for (Request& request : All(decoder)) requests.push_back(std::move(request));
    }
    ExpectAllCases(requests);
    EXPECT_EQ(decoder.buffered(), 0U);
    EXPECT_EQ(decoder.dialect(), Dialect::k2);
  }
}

TEST(RequestTest, PingCarriesItsNonce) {
  RequestDecoder decoder;
  decoder.Append(Hello() + Ask(Query::kPing, Bytes<uint32_t>(4711)));
  EXPECT_EQ(All(decoder).at(0).nonce, 4711U);
}

TEST(RequestTest, OldClientsAreRecognisedByTheirFirstBytes) {
  RequestDecoder decoder;
  const auto old = [](uint8_t number, const std::string& fields) { return Bytes(number) + fields; };
  decoder.Append(old(0, Texts({"/a", "1"})) + old(3, Text("init/") + Bytes<int64_t>(1)) + old(5, Counted({"/a"})) +
                 old(6, "") + old(8, Text("/a")) + old(2, Text("/a")) + old(12, ""));
  const std::vector<Request> requests = All(decoder);
  ASSERT_EQ(requests.size(), 7U);
  EXPECT_EQ(decoder.dialect(), Dialect::k1);
  EXPECT_EQ(requests[0].query, Query::kSet);
  EXPECT_THAT(requests[0].values, ElementsAre("1"));
  EXPECT_EQ(requests[1].query, Query::kAdd);
  EXPECT_EQ(requests[2].query, Query::kWait);
  EXPECT_EQ(requests[3].query, Query::kGetNumKeys);
  EXPECT_EQ(requests[4].query, Query::kDeleteKey);
  EXPECT_EQ(requests[5].query, Query::kGet);
  EXPECT_EQ(requests[6].query, Query::kCancelWait);
}

std::string ErrorOf(const std::string& bytes) {
  RequestDecoder decoder;
  decoder.Append(bytes);
  while (true) {
    const absl::StatusOr<std::optional<Request>> request = decoder.Next();
    if (!request.ok()) return std::string(request.status().message());
    if (!request->has_value()) return "";
  }
}

TEST(RequestTest, WhatIsNoRequestIsAnError) {
  const std::string set = Ask(Query::kSet, "");
  EXPECT_THAT(ErrorOf(Hello() + Bytes<uint8_t>(19)), HasSubstr("query 19 of PyTorch 2 is unknown"));
  EXPECT_THAT(ErrorOf(Hello() + Hello()), HasSubstr("query 0"));
  EXPECT_THAT(ErrorOf(Bytes<uint8_t>(7)), HasSubstr("WATCH_KEY"));
  EXPECT_THAT(ErrorOf("GET / HTTP/1.1\r\n"), HasSubstr("query 71 of PyTorch 1.13"));
  EXPECT_THAT(ErrorOf(Bytes<uint8_t>(0) + Bytes<uint32_t>(0x12345678) + Bytes<uint32_t>(1)),
              HasSubstr("the length of a key in bytes"));
}

TEST(RequestTest, LimitsAreTheReferences) {
  const auto set = [](uint64_t key, uint64_t value) {
    return Hello() + Ask(Query::kSet, Text(std::string(key, 'k')) + Bytes<uint64_t>(value));
  };
  EXPECT_THAT(ErrorOf(set(kMaxKeyBytes, kMaxValueBytes)), IsEmpty());
  EXPECT_THAT(ErrorOf(set(1, kMaxValueBytes + 1)),
              HasSubstr("the length of a value in bytes is 8388609 in a request; a store takes at most"));
  EXPECT_THAT(ErrorOf(set(kMaxKeyBytes + 1, 1)), HasSubstr("the length of a key in bytes is 8193"));
  for (const Query query : {Query::kCheck, Query::kWait, Query::kMultiGet, Query::kMultiSet}) {
    EXPECT_THAT(ErrorOf(Hello() + Ask(query, Bytes<uint64_t>(kMaxKeysOfRequest))), IsEmpty());
    EXPECT_THAT(ErrorOf(Hello() + Ask(query, Bytes<uint64_t>(kMaxKeysOfRequest + 1))), HasSubstr("131073"));
  }
}

TEST(RequestTest, WhatIsNotWholeIsCounted) {
  RequestDecoder decoder;
  decoder.Append(Hello() + Ask(Query::kMultiSet, Bytes<uint64_t>(2) + Text("/a") + Text(std::string(5000, 'x'))));
  EXPECT_THAT(All(decoder), IsEmpty());
  EXPECT_GE(decoder.buffered(), 5002U);
}

}  // namespace
}  // namespace muster::torch_store
