// Requests, answers and frames arrive as they were sent, however they are cut; invalid ones are refused at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/request.h"

namespace muster::exec {
namespace {

using testing::HasSubstr;

const Request kRequest{7, 2, "secret", "job", "node-0", "node-1", "echo \"a;b\" '$x'"};

TEST(RequestTest, ComesInAsItWent) {
  const std::string bytes = *RequestBytes(kRequest) + "more";
  for (size_t size = 0; size < bytes.size() - 4; ++size) {
    std::string_view part = std::string_view(bytes).substr(0, size);
    const auto none = TakeRequest(part);
    ASSERT_TRUE(none.ok()) << size;
    EXPECT_FALSE(none->has_value()) << size;
  }
  std::string_view rest = bytes;
  const auto request = TakeRequest(rest);
  ASSERT_TRUE(request.ok() && request->has_value());
  EXPECT_EQ((*request)->run, 7U);
  EXPECT_EQ((*request)->round, 2U);
  EXPECT_EQ((*request)->secret, "secret");
  EXPECT_EQ((*request)->job, "job");
  EXPECT_EQ((*request)->from, "node-0");
  EXPECT_EQ((*request)->to, "node-1");
  EXPECT_EQ((*request)->words, kRequest.words);
  EXPECT_EQ(rest, "more");
}

TEST(RequestTest, WhatIsTooLongIsRefusedOnBothSides) {
  Request request = kRequest;
  request.words.assign(kMaxWordsBytes, 'x');
  std::string longest = *RequestBytes(request);
  EXPECT_LE(longest.size(), kMaxExecRequestBytes);
  request.words += 'x';
  EXPECT_THAT(std::string(RequestBytes(request).status().message()), HasSubstr("the limit is 122880"));
  longest[longest.size() - kMaxWordsBytes - 4] = 1;  // the length's first byte
  std::string_view rest = longest;
  EXPECT_THAT(std::string(TakeRequest(rest).status().message()), HasSubstr("the limit is 122880"));
  request = kRequest;
  request.to.assign(kMaxShortBytes + 1, 'x');
  EXPECT_FALSE(RequestBytes(request).ok());
}

TEST(RequestTest, WhatIsNoneIsRefusedWithItsFirstBytes) {
  std::string_view http = "GET / HTTP/1.1";
  EXPECT_FALSE(TakeRequest(http).ok());
  std::string newer = *RequestBytes(kRequest);
  newer[8] = 2;
  std::string_view rest = newer;
  EXPECT_THAT(std::string(TakeRequest(rest).status().message()),
              HasSubstr("use the same version of Muster on all nodes"));
}

TEST(AnswerTest, ComesInAsItWent) {
  const std::string bytes = AnswerBytes({AnswerCode::kRefused, "why"}) + "x";
  std::string_view rest = bytes;
  const auto answer = TakeAnswer(rest);
  ASSERT_TRUE(answer.ok() && answer->has_value());
  EXPECT_EQ((*answer)->code, AnswerCode::kRefused);
  EXPECT_EQ((*answer)->text, "why");
  EXPECT_EQ(rest, "x");
  std::string_view unknown = "\x09\x01";
  EXPECT_FALSE(TakeAnswer(unknown).ok());
  EXPECT_LE(AnswerBytes({AnswerCode::kRefused, std::string(100'000, 'x')}).size(), kMaxAnswerBytes + 3);
}

TEST(FrameTest, ComeInAsTheyWent) {
  const std::string bytes = FrameBytes(FrameKind::kOutput, "out") + FrameBytes(FrameKind::kExit, 300U);
  FrameReader reader;
  std::vector<Frame> frames;
  for (const char byte : bytes) {
    reader.Add({&byte, 1});
    while (std::optional<Frame> frame = reader.Take()) frames.push_back(*frame);
  }
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].kind, FrameKind::kOutput);
  EXPECT_EQ(frames[0].bytes, "out");
  EXPECT_EQ(frames[1].number(), 300U);
  EXPECT_EQ(frames[0].number(), 0U);
}

TEST(FrameTest, WhatIsNoneBreaksTheReader) {
  FrameReader unknown;
  unknown.Add("?....");
  EXPECT_FALSE(unknown.Take());
  EXPECT_TRUE(unknown.is_broken());
  FrameReader huge;
  huge.Add({"o\xff\xff\xff\x7f", 5});
  EXPECT_FALSE(huge.Take());
  EXPECT_TRUE(huge.is_broken());
}

TEST(FrameTest, ANumberOfAnotherSizeIsBroken) {
  for (const FrameKind kind : {FrameKind::kExit, FrameKind::kSignal, FrameKind::kCredit, FrameKind::kUnread}) {
    FrameReader reader;
    reader.Add(FrameBytes(kind, ""));
    EXPECT_FALSE(reader.Take());
    EXPECT_TRUE(reader.is_broken());
  }
}

}  // namespace
}  // namespace muster::exec
