#include "common/net/http2/frame_guard.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/common/times.h"
#include "tests/unit/http2/http2_frames.h"

namespace muster {
namespace {

// The first bytes of gRPC's clients and curl, a call with a message, and its end.
std::string Honest() {
  return kPreface + Frame(4, 0, 0, Zeros(18)) + Frame(8, 0, 0, Zeros(4)) + Frame(4, 1, 0, "") + Headers(1) +
         Frame(0, 0, 1, Zeros(3000)) + Frame(0, 1, 1, "") + Frame(6, 0, 0, Zeros(8)) + Headers(3, 0) +
         Frame(9, 0x4, 3, Zeros(100)) + Frame(3, 0, 3, Zeros(4)) + Frame(7, 0, 0, Zeros(8));
}

std::optional<FrameGuard::Breach> BreachOf(FrameGuard& guard, const std::string& bytes, MonotonicTime now) {
  return guard.Take(bytes, now).breach;
}

// Counts how many of these frames the guard takes at one moment, after the preface and an open stream.
int MostAtOnce(const std::string& frame) {
  FrameGuard guard;
  EXPECT_FALSE(BreachOf(guard, kPreface + Headers(1), At(1)).has_value());
  for (int count = 0; count < 1'000'000; ++count) {
    if (guard.paused_until() > At(1) || guard.Take(frame, At(1)).breach.has_value()) return count;
  }
  return 1'000'000;
}

std::string KindOf(const std::string& bytes) {
  FrameGuard guard;
  const auto breach = BreachOf(guard, kPreface + bytes, At(1));
  return breach.has_value() ? breach->kind : "none";
}

TEST(FrameGuard, TakesWhatHonestClientsSayHoweverItIsCut) {
  const std::string bytes = Honest();
  for (const size_t part : {size_t{1}, size_t{2}, size_t{7}, size_t{9}, size_t{10}, size_t{1000}, bytes.size()}) {
    FrameGuard guard;
    for (size_t at = 0; at < bytes.size(); at += part) {
      const FrameGuard::Taken taken = guard.Take(std::string_view(bytes).substr(at, part), At(1));
      ASSERT_FALSE(taken.breach.has_value()) << taken.breach->text << " at " << at << " in parts of " << part;
      ASSERT_EQ(taken.bytes, std::min(part, bytes.size() - at));
    }
    EXPECT_EQ(guard.opened(), 2u);
  }
}

TEST(FrameGuard, CutsAHeaderBlockWithoutEnd) {
  FrameGuard guard;
  ASSERT_FALSE(BreachOf(guard, kPreface + Headers(1, 0), At(1)).has_value());
  size_t taken = 0;
  std::optional<FrameGuard::Breach> breach;
  while (taken < 1'000'000 && !(breach = BreachOf(guard, Frame(9, 0, 1, Zeros(1'024)), At(1)))) taken += 1'024;
  ASSERT_TRUE(breach.has_value());
  EXPECT_LE(taken, 2'048u);
  EXPECT_STREQ(breach->kind, "HTTP/2 header block");
  // The result is the same if each piece has one byte, or none.
  for (const size_t size : {size_t{0}, size_t{1}}) {
    FrameGuard slow;
    ASSERT_FALSE(BreachOf(slow, kPreface + Headers(1, 0), At(1)).has_value());
    int frames = 0;
    while (frames < 1000 && !BreachOf(slow, Frame(9, 0, 1, Zeros(size)), At(1 + frames))) ++frames;
    EXPECT_LT(frames, 20);
  }
}

// The guard takes only so much at a time. The caller keeps the rest, and the guard takes it later.
TEST(FrameGuard, SlowsDownRapidReset) {
  std::string flood = kPreface + Frame(4, 1, 0, "");
  for (uint32_t stream = 1; stream < 4'000; stream += 2) flood += Headers(stream) + Frame(3, 0, stream, Zeros(4));
  FrameGuard guard;
  std::string_view left = flood;
  double seconds = 1;
  while (!left.empty() && seconds < 100) {
    if (guard.paused_until() <= At(seconds)) {
      const FrameGuard::Taken taken = guard.Take(left, At(seconds));
      ASSERT_FALSE(taken.breach.has_value()) << taken.breach->text;
      ASSERT_GT(taken.bytes, 0u);
      left.remove_prefix(taken.bytes);
      if (seconds == 1) {
        EXPECT_LE(guard.opened(), 102u);
      }
    }
    seconds += 0.001;
  }
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(guard.opened(), 2'000u);
  EXPECT_NEAR(seconds, 1 + 1'900 / 200.0, 0.5);
  const auto pause = guard.TakePause();
  ASSERT_TRUE(pause.has_value());
  EXPECT_STREQ(pause->kind, "HTTP/2 resets");
  EXPECT_FALSE(guard.TakePause().has_value()) << "it is reported once";
}

TEST(FrameGuard, ManyStreamsASecondForAnHourAreFine) {
  FrameGuard guard;
  ASSERT_FALSE(BreachOf(guard, kPreface + Frame(4, 1, 0, ""), At(0)).has_value());
  for (uint32_t i = 0; i < 100'000; ++i) {
    ASSERT_FALSE(BreachOf(guard, Headers(2 * i + 1) + Frame(0, 1, 2 * i + 1, Zeros(10)), At(i / 900.0)).has_value());
    ASSERT_LE(guard.paused_until(), At(i / 900.0)) << i;
  }
}

// gRPC limits a peer's streams only after the peer has acknowledged the limit.
TEST(FrameGuard, CutsManyStreamsThatNeverAcknowledgeSettings) {
  FrameGuard guard;
  ASSERT_FALSE(BreachOf(guard, kPreface + Frame(4, 0, 0, ""), At(0)).has_value());
  std::string said;
  for (uint32_t i = 0; i < 10'000; ++i) said += Headers(2 * i + 1);
  std::string_view left = said;
  std::optional<FrameGuard::Breach> breach;
  for (double seconds = 0; seconds < 100 && !breach; seconds += 0.01) {
    if (guard.paused_until() > At(seconds)) continue;
    const FrameGuard::Taken taken = guard.Take(left, At(seconds));
    left.remove_prefix(taken.bytes);
    breach = taken.breach;
  }
  ASSERT_TRUE(breach.has_value());
  EXPECT_STREQ(breach->kind, "HTTP/2 SETTINGS unacknowledged");
  EXPECT_LE(guard.opened(), 330u);
}

TEST(FrameGuard, BoundsEachKindOfFrame) {
  const std::string ping = Frame(6, 0, 0, Zeros(8)), settings = Frame(4, 0, 0, Zeros(6)), ack = Frame(4, 1, 0, "");
  const std::string priority = Frame(2, 0, 1, Zeros(5)), window = Frame(8, 0, 0, Zeros(4)), empty = Frame(0, 0, 1, "");
  EXPECT_LE(MostAtOnce(ping), 501);
  EXPECT_LE(MostAtOnce(settings), 101);
  EXPECT_LE(MostAtOnce(ack), 101);
  EXPECT_LE(MostAtOnce(priority), 201);
  EXPECT_LE(MostAtOnce(window), 5'001);
  EXPECT_LE(MostAtOnce(empty), 201);
  EXPECT_LE(MostAtOnce(Frame(0, 0, 1, Zeros(1))), 20'001);
  EXPECT_LE(MostAtOnce(Headers(1)), 101) << "trailers";
  EXPECT_LE(MostAtOnce(Frame(200, 0, 0, Zeros(3))), 51);
  EXPECT_LE(MostAtOnce(Frame(7, 0, 0, Zeros(8))), 4);
  EXPECT_GE(MostAtOnce(ping), 500) << "gRPC of Go sends 113 in a second";
  EXPECT_GE(MostAtOnce(window), 5000);
}

TEST(FrameGuard, CutsWhatNoClientMaySay) {
  const std::string open = Headers(1, 0);  // its header block is not complete
  EXPECT_EQ(KindOf(Frame(5, 0x4, 1, Zeros(8))), "HTTP/2 malformed") << "PUSH_PROMISE";
  EXPECT_EQ(KindOf(Frame(9, 0x4, 1, "")), "HTTP/2 malformed") << "CONTINUATION of nothing";
  EXPECT_EQ(KindOf(open + Frame(9, 0x4, 3, "")), "HTTP/2 malformed") << "of another stream";
  EXPECT_EQ(KindOf(open + Frame(6, 0, 0, Zeros(8))), "HTTP/2 malformed") << "interrupted";
  EXPECT_EQ(KindOf(Headers(2)), "HTTP/2 malformed") << "a server's stream";
  EXPECT_EQ(KindOf(Headers(0)), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(0, 0, 0, "a")), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(8, 0, 0, Zeros(5))), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(2, 0, 1, Zeros(4))), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(3, 0, 1, Zeros(3))), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(4, 0, 0, Zeros(7))), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(4, 0, 0, Zeros(6000))), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(6, 0, 0, Zeros(9))), "HTTP/2 malformed");
  EXPECT_EQ(KindOf(Frame(99, 0, 0, Zeros(20'000))), "HTTP/2 malformed");
  FrameGuard guard;
  EXPECT_TRUE(BreachOf(guard, "GET / HTTP/1.1\r\n", At(1)).has_value());
}

TEST(FrameGuard, TheReservedBitOfAStreamIsNotRead) {
  FrameGuard guard;
  EXPECT_FALSE(BreachOf(guard, kPreface + Headers(0x80000001) + Frame(0, 1, 1, ""), At(1)).has_value());
  EXPECT_EQ(guard.opened(), 1u);
}

}  // namespace
}  // namespace muster
