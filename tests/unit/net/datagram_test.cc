#include "common/net/datagram.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "common/base/limits.h"

namespace muster {
namespace {

template <size_t n>
std::string Text(const std::array<char, n>& bytes) {
  return {bytes.data(), bytes.size()};
}

// Runs with secrets, as with TLS, and without.
class DatagramTest : public ::testing::TestWithParam<bool> {
 protected:
  const DatagramKey key_ = DatagramKey::New(GetParam());
  DatagramSeal seal_;
  const std::string heartbeat_ = seal_.Seal(HeartbeatDatagram{0x0102030405060708, 77, 30'000}, key_);
  const std::string answer_ = Text(seal_.Seal(AnswerDatagram{9, 77, 1ull << 40, 45'000, 5'000}, key_));
};

TEST_P(DatagramTest, WhatWasSealedComesOut) {
  const auto heartbeat = seal_.OpenHeartbeat(heartbeat_, key_);
  ASSERT_TRUE(heartbeat);
  EXPECT_EQ(heartbeat->stream, 0x0102030405060708u);
  EXPECT_EQ(heartbeat->heartbeat_seq, 77u);
  EXPECT_EQ(heartbeat->armed_fence_ms, 30'000u);
  const auto answer = seal_.OpenAnswer(answer_, key_);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stream, 9u);
  EXPECT_EQ(answer->heartbeat_seq, 77u);
  EXPECT_EQ(answer->events_through, 1ull << 40);
  EXPECT_EQ(answer->fence_timeout_ms, 45'000u);
  EXPECT_EQ(answer->heartbeat_interval_ms, 5'000u);
}

TEST_P(DatagramTest, TheBytesAreThoseOfTheDocument) {
  EXPECT_EQ(heartbeat_.substr(0, 20), std::string("MH\x01\x01"
                                                  "\x01\x02\x03\x04\x05\x06\x07\x08"
                                                  "\0\0\0\0\0\0\0\x4d",
                                                  20));
  if (GetParam()) return;
  EXPECT_EQ(heartbeat_.substr(20, 4), std::string("\0\0\x75\x30", 4));
  EXPECT_EQ(heartbeat_.substr(24), std::string(key_.bytes.begin(), key_.bytes.begin() + 16));
}

TEST(DatagramSealTest, TheSecretIsThatOfTheDocument) {
  // With Python's cryptography, head = b"MH\1\1": AESGCM(bytes(32)).encrypt(head + struct.pack(">Q", 2),
  // struct.pack(">I", 3), head + struct.pack(">QQ", 1, 2)).hex()
  EXPECT_EQ(absl::BytesToHexString(DatagramSeal().Seal(HeartbeatDatagram{1, 2, 3}, DatagramKey{}).substr(20)),
            "3565bce0b5e2b9d3fbbdc421be1a777627f71e49");
}

TEST_P(DatagramTest, TheStreamIsKnownBeforeTheKeyIs) {
  EXPECT_EQ(StreamOfDatagram(heartbeat_), 0x0102030405060708u);
  EXPECT_EQ(StreamOfDatagram(answer_), 9u);
  EXPECT_EQ(StreamOfDatagram(""), 0u);
  EXPECT_EQ(StreamOfDatagram(heartbeat_.substr(1)), 0u);
  EXPECT_EQ(StreamOfDatagram(answer_ + "x"), 0u);
  const std::string longest = heartbeat_ + std::string(kMaxProgressBytes, 'x');
  EXPECT_NE(StreamOfDatagram(longest), 0u);
  EXPECT_EQ(StreamOfDatagram(longest + "x"), 0u);
}

TEST_P(DatagramTest, ProgressComesOut) {
  for (const size_t size : {size_t{1}, size_t{100}, kMaxProgressBytes}) {
    const std::string progress(size, '\x8f');
    const std::string sealed = seal_.Seal(HeartbeatDatagram{7, 78, 30'000, progress}, key_);
    EXPECT_EQ(sealed.size(), HeartbeatDatagram::kBytes + size);
    const auto heartbeat = seal_.OpenHeartbeat(sealed, key_);
    ASSERT_TRUE(heartbeat);
    EXPECT_EQ(heartbeat->progress, progress);
    EXPECT_EQ(heartbeat->armed_fence_ms, 30'000u);
    EXPECT_FALSE(seal_.OpenHeartbeat(sealed.substr(0, sealed.size() - 1), key_));
    EXPECT_FALSE(seal_.OpenHeartbeat(sealed + "x", key_));
  }
}

TEST_P(DatagramTest, NothingElseOpens) {
  // The part in the clear may be changed by anyone that has seen the key.
  for (size_t bit = GetParam() ? 0 : 24 * 8; bit < heartbeat_.size() * 8; ++bit) {
    std::string changed = heartbeat_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(seal_.OpenHeartbeat(changed, key_)) << "bit " << bit;
  }
  for (size_t bit = GetParam() ? 0 : 36 * 8; bit < answer_.size() * 8; ++bit) {
    std::string changed = answer_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(seal_.OpenAnswer(changed, key_)) << "bit " << bit;
  }
  for (size_t size = 0; size < heartbeat_.size(); ++size) {
    EXPECT_FALSE(seal_.OpenHeartbeat(heartbeat_.substr(0, size), key_)) << size << " bytes";
  }
  EXPECT_FALSE(seal_.OpenHeartbeat(heartbeat_ + '\0', key_));
  EXPECT_FALSE(seal_.OpenHeartbeat(heartbeat_, DatagramKey::New(GetParam()))) << "another stream's key";
}

TEST_P(DatagramTest, OneDirectionIsNotTheOther) {
  EXPECT_FALSE(seal_.OpenAnswer(heartbeat_, key_));
  EXPECT_FALSE(seal_.OpenHeartbeat(answer_, key_));
}

INSTANTIATE_TEST_SUITE_P(Both, DatagramTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Secret" : "Plain"; });

}  // namespace
}  // namespace muster
