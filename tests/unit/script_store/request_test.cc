#include "worker_agent/gateway/script_store/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::script_store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string WhyNot(std::string_view line) {
  const absl::StatusOr<Request> request = ReadRequest(line);
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument) << line;
  return std::string(request.status().message());
}

TEST(ScriptRequestTest, EveryOperationIsRead) {
  EXPECT_EQ(ReadRequest(R"({"op":"get","key":"a"})")->operation, Operation::kGet);
  EXPECT_EQ(ReadRequest(R"({"op":"peek","key":"a"})")->operation, Operation::kPeek);
  EXPECT_EQ(ReadRequest(R"({"op":"wait","key":"a","limit_ms":70})")->limit_ms, 70);
  EXPECT_EQ(ReadRequest(R"({"op":"delete","key":"ä"})")->key, "ä");
  const auto set = ReadRequest(R"({"op":"set","key":"a","value":"aGk=","lifetime":"run"})");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->value, "hi");
  EXPECT_EQ(set->lifetime, Lifetime::kRun);
  EXPECT_EQ(ReadRequest(R"({"op":"add","key":"a","delta":-9223372036854775808})")->delta, INT64_MIN);
  const auto swap = ReadRequest(R"({"op":"compare_and_set","key":"a","value":"","expected":"aGk="})");
  EXPECT_EQ(swap->expected, "hi");
  EXPECT_EQ(swap->lifetime, Lifetime::kRound);
  EXPECT_EQ(ReadRequest(R"({"op":"compare_and_set","key":"a","value":"","expected":null})")->expected, std::nullopt);
  EXPECT_EQ(ReadRequest(R"({"op":"list","prefix":""})")->key, "");
  const auto barrier = ReadRequest(R"({"op":"barrier","name":"b","rank":2,"ranks":[0,2],"limit_ms":1000})");
  EXPECT_EQ(barrier->rank, 2);
  EXPECT_THAT(barrier->ranks, ElementsAre(0, 2));
}

TEST(ScriptRequestTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(WhyNot(""), HasSubstr("one JSON object"));
  EXPECT_THAT(WhyNot("[]"), HasSubstr("one JSON object"));
  EXPECT_THAT(WhyNot("{}"), HasSubstr("no such op"));
  EXPECT_THAT(WhyNot(R"({"op":7})"), HasSubstr("no such op"));
  EXPECT_EQ(WhyNot(R"({"op":"get"})"), "\"key\" is empty");
  EXPECT_EQ(WhyNot(R"({"op":"barrier","rank":1})"), "\"name\" is empty");
  EXPECT_EQ(WhyNot(R"({"op":"set","key":"a"})"), "\"value\" is missing");
  EXPECT_EQ(WhyNot(R"({"op":"set","key":"a","value":"*"})"), "\"value\" is not in Base64");
  EXPECT_EQ(WhyNot(R"({"op":"set","key":"a","value":"","lifetime":"long"})"), "\"lifetime\" is neither round nor run");
  EXPECT_EQ(WhyNot(R"({"op":"add","key":"a","delta":9223372036854775808})"),
            "\"delta\" is no whole number in its range");
  EXPECT_EQ(WhyNot(R"({"op":"add","key":"a","delta":1.5})"), "\"delta\" is no whole number in its range");
  EXPECT_EQ(WhyNot(R"({"op":"wait","key":"a","limit_ms":-1})"), "\"limit_ms\" is negative");
  EXPECT_EQ(WhyNot(R"({"op":"barrier","name":"b","ranks":[]})"), "\"ranks\" is no list of ranks");
  EXPECT_EQ(WhyNot(R"({"op":"barrier","name":"b","ranks":[3000000000]})"), "\"ranks\" is no whole number in its range");
  EXPECT_THAT(WhyNot(absl::StrCat(R"({"op":"get","key":")", "\xff", R"("})")), HasSubstr("one JSON object"));
  EXPECT_THAT(WhyNot(std::string(kMaxLineBytes, '[')), HasSubstr("one JSON object")) << "however deep";
}

TEST(ScriptRequestTest, AnswersAreLines) {
  EXPECT_EQ(Nothing(), "{}\n");
  EXPECT_EQ(ValueLine("hi"), "{\"value\":\"aGk=\"}\n");
  EXPECT_EQ(ValueLine(std::nullopt), "{\"value\":null}\n");
  EXPECT_EQ(NumberLine(-3), "{\"number\":-3}\n");
  EXPECT_EQ(EntriesLine({{{"a", "hi"}, {"b", ""}}, true}),
            "{\"entries\":[[\"a\",\"aGk=\"],[\"b\",\"\"]],\"has_more\":true}\n");
  EXPECT_EQ(ErrorLine(absl::UnavailableError("away\n")), "{\"error\":\"UNAVAILABLE\",\"message\":\"away\\n\"}\n");
}

}  // namespace
}  // namespace muster::script_store
