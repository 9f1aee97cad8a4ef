#include "ring/frames.h"

#include <gtest/gtest.h>

#include <string>

#include "ring/sockets.h"

namespace muster::ring {
namespace {

TEST(Frames, HeadersComeBack) {
  const auto header = DecodeHeader(EncodeHeader(FrameType::kChunk, 70'000).data());
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->type, FrameType::kChunk);
  EXPECT_EQ(header->length, 70'000u);
}

TEST(Frames, WhatIsNotOursOrTooLongIsRefused) {
  EXPECT_FALSE(DecodeHeader("GET / HT").has_value());
  EXPECT_FALSE(DecodeHeader("\x16\x03\x01\x02\0\1\0\1").has_value());
  const auto refuses = [](FrameType type, size_t length) {
    return !DecodeHeader(EncodeHeader(type, length).data()).has_value();
  };
  EXPECT_TRUE(refuses(FrameType::kHello, kMaxControlBytes + 1));
  EXPECT_TRUE(refuses(FrameType::kToken, 1));
  EXPECT_TRUE(refuses(FrameType::kPing, 9));
  EXPECT_TRUE(refuses(FrameType::kStream, kStreamFrameBytes + 1));
  EXPECT_TRUE(refuses(FrameType::kChunk, kMaxChunkBytes + 1));
  EXPECT_TRUE(refuses(static_cast<FrameType>(0), 0));
  EXPECT_TRUE(refuses(static_cast<FrameType>(11), 0));
}

TEST(Frames, PayloadsComeBack) {
  const Hello hello{kRingVersion, "job", 1, 2, 3, 0, 1, 4096, 5};
  EXPECT_EQ(DecodeHello(Encode(hello)), hello);
  const Record record{1, 2, 3'000'000'000, 4, 5, 6};
  EXPECT_EQ(DecodeRecord(Encode(record)), record);
  const Fault fault{1, 2, FaultKind::kSlow, 2, 7, "because"};
  EXPECT_EQ(DecodeFault(Encode(fault)), fault);
  EXPECT_EQ(DecodeSettled(EncodeSettled(70'000)), 70'000u);
  EXPECT_EQ(DecodeSettled("abc"), std::nullopt);
}

TEST(Frames, HelloDifferencesAreReportedWithARemedy) {
  const Hello ours{kRingVersion, "job", 1, 2, 3, 0, 1, 4096, 5};
  Hello theirs = ours;
  theirs.slow_factor = 7;
  EXPECT_EQ(HelloDifference(theirs, ours),
            "its slow factor is 7, this rank's is 5: --slow_factor (MS_RING_SLOW_FACTOR) must be equal on every node");
  theirs.bytes = 4;
  EXPECT_EQ(HelloDifference(theirs, ours), "it checks with 4 bytes, this rank with 4096: --bytes must be equal");
}

TEST(Frames, EveryTruncationAndEveryAdditionIsRefused) {
  const std::string hello = Encode(Hello{kRingVersion, "job", 1, 2, 3, 0, 1, 4096, 5});
  const std::string record = Encode(Record{});
  const std::string fault = Encode(Fault{1, 2, FaultKind::kSlow, 2, 7, "because"});
  for (size_t size = 0; size < hello.size(); ++size) EXPECT_FALSE(DecodeHello(hello.substr(0, size)).has_value());
  for (size_t size = 0; size < record.size(); ++size) EXPECT_FALSE(DecodeRecord(record.substr(0, size)).has_value());
  for (size_t size = 0; size < fault.size(); ++size) EXPECT_FALSE(DecodeFault(fault.substr(0, size)).has_value());
  EXPECT_FALSE(DecodeHello(hello + "x").has_value());
  EXPECT_FALSE(DecodeRecord(record + "x").has_value());
  EXPECT_FALSE(DecodeFault(fault + "x").has_value());
}

TEST(Frames, TextsAreBoundedAndKindsAreKnown) {
  EXPECT_FALSE(DecodeHello(Encode(Hello{1, std::string(129, 'a'), 1, 2, 3, 0, 1, 4, 5})).has_value());
  EXPECT_FALSE(DecodeFault(Encode(Fault{0, 1, FaultKind::kSlow, 0, 0, std::string(401, 'a')})).has_value());
  EXPECT_FALSE(DecodeFault(Encode(Fault{0, 1, static_cast<FaultKind>(0), 0, 0, ""})).has_value());
  EXPECT_FALSE(DecodeFault(Encode(Fault{0, 1, static_cast<FaultKind>(14), 0, 0, ""})).has_value());
}

}  // namespace
}  // namespace muster::ring
