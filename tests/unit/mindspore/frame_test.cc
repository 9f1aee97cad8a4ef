#include "common/mindspore/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/limits.h"

namespace muster::mindspore {
namespace {

using testing::HasSubstr;

std::string Header(uint32_t name, uint32_t to, uint32_t from, uint32_t body) {
  std::string out = "RPC0";
  for (const uint32_t length : {name, to, from, body}) {
    for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(length >> shift));
  }
  return out;
}

TEST(FrameTest, ComesOutAsItWentIn) {
  const Frame frame{"7", "@127.0.0.1:8118", "@", std::string("\x00\xff body", 7)};
  FrameDecoder decoder;
  decoder.Append(EncodeFrame(frame));
  const auto taken = decoder.Next();
  ASSERT_TRUE(taken.ok() && taken->has_value());
  EXPECT_EQ((*taken)->name, "7");
  EXPECT_EQ((*taken)->to, "@127.0.0.1:8118");
  EXPECT_EQ((*taken)->from, "@");
  EXPECT_EQ((*taken)->body, frame.body);
  EXPECT_EQ(decoder.buffered(), 0U);
}

TEST(FrameTest, EveryByteForItselfAndSeveralAtOnce) {
  const std::string bytes = EncodeFrame({"2", "@a", "@", "one"}) + EncodeFrame({"6", "@a", "@", ""});
  for (const size_t step : {size_t{1}, size_t{7}, bytes.size()}) {
    FrameDecoder decoder;
    std::vector<std::string> names;
    for (size_t at = 0; at < bytes.size(); at += step) {
      decoder.Append(bytes.substr(at, step));
      while (true) {
        auto frame = decoder.Next();
        ASSERT_TRUE(frame.ok()) << "step " << step;
        if (!frame->has_value()) break;
        names.push_back((*frame)->name);
      }
    }
    EXPECT_EQ(names, (std::vector<std::string>{"2", "6"})) << "step " << step;
  }
}

// A header alone made MindSpore's own scheduler allocate the claimed size.
TEST(FrameTest, ClaimsMakeNothingGrow) {
  FrameDecoder decoder;
  decoder.Append(Header(1, 2, 1, kMaxMindSporeBodyBytes));
  const auto frame = decoder.Next();
  ASSERT_TRUE(frame.ok());
  EXPECT_FALSE(frame->has_value());
  EXPECT_EQ(decoder.buffered(), 20U);
}

TEST(FrameTest, RefusesWhatIsTooLong) {
  struct Case {
    std::string header;
    const char* said;
  };
  const uint32_t longest = kMaxMindSporeStringBytes;
  for (const Case& c :
       {Case{Header(longest + 1, 0, 0, 0), "a name of 1025 bytes; at most 1024"},
        Case{Header(1, longest + 1, 0, 0), "a to of 1025"}, Case{Header(1, 0, 0xffffffff, 0), "a from of 4294967295"},
        Case{Header(1, 1, 1, kMaxMindSporeBodyBytes + 1), "a body of 1048577 bytes"},
        Case{Header(1, 1, 1, 2147479552U), "a body of 2147479552"}}) {
    FrameDecoder decoder;
    decoder.Append(c.header);
    EXPECT_THAT(std::string(decoder.Next().status().message()), HasSubstr(c.said));
  }
}

TEST(FrameTest, GarbageIsKnownByItsFirstBytes) {
  for (const char* garbage : {"G", "GET / HTTP/1.1\r\n", "RPD", "\x16\x03\x01"}) {
    FrameDecoder decoder;
    decoder.Append(garbage);
    EXPECT_FALSE(decoder.Next().ok()) << garbage;
  }
  FrameDecoder decoder;
  decoder.Append("RP");
  EXPECT_TRUE(decoder.Next().ok()) << "these two may become a frame";
}

TEST(FrameTest, RepliesHoldAnAt) {
  const Frame reply = MakeReply(3, "10.0.0.1:8118", "body");
  EXPECT_EQ(reply.name, "3");
  EXPECT_EQ(reply.to, "@10.0.0.1:8118");
  EXPECT_EQ(reply.from, "@");
}

}  // namespace
}  // namespace muster::mindspore
