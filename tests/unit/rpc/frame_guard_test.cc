#include "scheduler/ingress/http2/frame_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/rpc/http2_frames.h"
#include "tests/unit/rpc/times.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;

// What gRPC's clients and curl begin with, a call with a message, and its end.
std::string Honest() {
  return kPreface + Frame(4, 0, 0, Zeros(18)) + Frame(8, 0, 0, Zeros(4)) + Frame(4, 1, 0, "") + Headers(1) +
         Frame(0, 0, 1, Zeros(3000)) + Frame(0, 1, 1, "") + Frame(6, 0, 0, Zeros(8)) + Headers(3, 0) +
         Frame(9, 0x4, 3, Zeros(100)) + Frame(3, 0, 3, Zeros(4)) + Frame(7, 0, 0, Zeros(8));
}

// How many of a frame the guard takes at one moment, after the preface and an open stream.
int MostAtOnce(const std::string& frame) {
  FrameGuard guard;
  EXPECT_FALSE(guard.Take(kPreface + Headers(1), At(1)).has_value());
  for (int count = 0; count < 1'000'000; ++count) {
    if (guard.Take(frame, At(1)).has_value()) return count;
  }
  return 1'000'000;
}

std::string KindOf(const std::string& bytes) {
  FrameGuard guard;
  const auto breach = guard.Take(kPreface + bytes, At(1));
  return breach.has_value() ? breach->kind : "none";
}

TEST(FrameGuard, TakesWhatHonestClientsSayHoweverItIsCut) {
  const std::string bytes = Honest();
  for (const size_t part : {size_t{1}, size_t{2}, size_t{7}, size_t{9}, size_t{10}, size_t{1000}, bytes.size()}) {
    FrameGuard guard;
    for (size_t at = 0; at < bytes.size(); at += part) {
      const auto breach = guard.Take(std::string_view(bytes).substr(at, part), At(1));
      ASSERT_FALSE(breach.has_value()) << breach->text << " at " << at << " in parts of " << part;
    }
    EXPECT_EQ(guard.opened(), 2u);
  }
}

TEST(FrameGuard, CutsAHeaderBlockWithoutEnd) {
  FrameGuard guard;
  ASSERT_FALSE(guard.Take(kPreface + Headers(1, 0), At(1)).has_value());
  size_t taken = 0;
  std::optional<FrameGuard::Breach> breach;
  while (taken < 1'000'000 && !(breach = guard.Take(Frame(9, 0, 1, Zeros(16'384)), At(1)))) taken += 16'384;
  ASSERT_TRUE(breach.has_value());
  EXPECT_LE(taken, 65'536u);
  EXPECT_STREQ(breach->kind, "HTTP/2 header block");
  // Also when each piece has one byte, or none.
  for (const size_t size : {size_t{0}, size_t{1}}) {
    FrameGuard slow;
    ASSERT_FALSE(slow.Take(kPreface + Headers(1, 0), At(1)).has_value());
    int frames = 0;
    while (frames < 1000 && !slow.Take(Frame(9, 0, 1, Zeros(size)), At(1 + frames))) ++frames;
    EXPECT_LT(frames, 20);
  }
}

TEST(FrameGuard, CutsRapidReset) {
  FrameGuard guard;
  ASSERT_FALSE(guard.Take(kPreface, At(1)).has_value());
  uint32_t stream = 1;
  std::optional<FrameGuard::Breach> breach;
  for (; stream < 100'000 && !breach; stream += 2) {
    breach = guard.Take(Headers(stream) + Frame(3, 0, stream, Zeros(4)), At(1));
  }
  ASSERT_TRUE(breach.has_value());
  EXPECT_THAT(breach->kind, HasSubstr("resets"));
  EXPECT_LT(stream, 2000u);
}

TEST(FrameGuard, ManyStreamsASecondForAnHourAreFine) {
  FrameGuard guard;
  ASSERT_FALSE(guard.Take(kPreface, At(0)).has_value());
  for (uint32_t i = 0; i < 100'000; ++i) {
    ASSERT_FALSE(guard.Take(Headers(2 * i + 1) + Frame(0, 1, 2 * i + 1, Zeros(10)), At(i / 900.0)).has_value()) << i;
  }
}

TEST(FrameGuard, BoundsEachKindOfFrame) {
  const std::string ping = Frame(6, 0, 0, Zeros(8)), settings = Frame(4, 0, 0, Zeros(6)), ack = Frame(4, 1, 0, "");
  const std::string priority = Frame(2, 0, 1, Zeros(5)), window = Frame(8, 0, 0, Zeros(4)), empty = Frame(0, 0, 1, "");
  EXPECT_LE(MostAtOnce(ping), 100);
  EXPECT_LE(MostAtOnce(settings), 100);
  EXPECT_LE(MostAtOnce(ack), 100);
  EXPECT_LE(MostAtOnce(priority), 200);
  EXPECT_LE(MostAtOnce(window), 10'000);
  EXPECT_LE(MostAtOnce(empty), 200);
  EXPECT_LE(MostAtOnce(Frame(0, 0, 1, Zeros(1))), 40'000);
  EXPECT_LE(MostAtOnce(Headers(1)), 100) << "trailers";
  EXPECT_LE(MostAtOnce(Frame(200, 0, 0, Zeros(3))), 50);
  EXPECT_LE(MostAtOnce(Frame(7, 0, 0, Zeros(8))), 4);
  EXPECT_GE(MostAtOnce(ping), 50);
  EXPECT_GE(MostAtOnce(window), 5000);
}

TEST(FrameGuard, CutsWhatNoClientMaySay) {
  const std::string open = Headers(1, 0);  // its header block goes on
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
  EXPECT_TRUE(guard.Take("GET / HTTP/1.1\r\n", At(1)).has_value());
}

TEST(FrameGuard, TheReservedBitOfAStreamIsNotRead) {
  FrameGuard guard;
  EXPECT_FALSE(guard.Take(kPreface + Headers(0x80000001) + Frame(0, 1, 1, ""), At(1)).has_value());
  EXPECT_EQ(guard.opened(), 1u);
}

}  // namespace
}  // namespace muster::scheduler
