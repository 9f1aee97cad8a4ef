#include "scheduler/ingress/http2/frame_guard.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113, 3.4
constexpr size_t kMostBlockBytes = 64 * 1024;                              // gRPC takes 8 KiB of metadata by default
constexpr uint32_t kMostBlockFrames = 16;
constexpr uint32_t kMostSettings = 64;           // in one frame; HTTP/2 has six
constexpr uint32_t kMostOtherBytes = 16 * 1024;  // of GOAWAY's debug data, of an unknown frame
constexpr uint32_t kMostGoAways = 4;

// RFC 9113, 6.
enum Type : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr uint8_t kEndStream = 0x1;
constexpr uint8_t kEndHeaders = 0x4;

// What is counted: so many a second on the long run, `burst` at once.
enum Counted {
  kStreams,
  kTrailers,
  kDataFrames,
  kEmptyData,
  kResets,
  kPings,
  kSettingsFrames,
  kPriorities,
  kWindows,
  kUnknown
};
struct Limit {
  const char* kind;
  const char* what;
  int a_second;
  int burst;
};
constexpr Limit kLimits[] = {
    {"HTTP/2 streams", "new streams", 1000, 2000},
    {"HTTP/2 trailers", "HEADERS of open streams", 50, 100},
    {"HTTP/2 DATA", "DATA frames", 20'000, 40'000},
    {"HTTP/2 empty DATA", "empty DATA frames", 50, 200},
    {"HTTP/2 resets", "RST_STREAM frames", 200, 500},
    {"HTTP/2 PING", "PING frames", 50, 100},
    {"HTTP/2 SETTINGS", "SETTINGS frames", 50, 100},
    {"HTTP/2 PRIORITY", "PRIORITY frames", 50, 200},
    {"HTTP/2 WINDOW_UPDATE", "WINDOW_UPDATE frames", 5000, 10'000},
    {"HTTP/2 unknown frames", "frames of unknown types", 20, 50},
};

FrameGuard::Breach Malformed(const std::string& text) { return {"HTTP/2 malformed", text}; }

}  // namespace

std::optional<FrameGuard::Breach> FrameGuard::Take(std::string_view bytes, MonotonicTime now) {
  if (preface_ < kPreface.size()) {
    if (std::optional<Breach> breach = TakePreface(bytes)) return breach;
  }
  while (!bytes.empty()) {
    if (payload_left_ > 0) {
      const size_t part = std::min<size_t>(payload_left_, bytes.size());
      payload_left_ -= static_cast<uint32_t>(part);
      bytes.remove_prefix(part);
      continue;
    }
    const size_t part = std::min(header_.size() - header_bytes_, bytes.size());
    std::copy_n(bytes.begin(), part, header_.begin() + static_cast<std::ptrdiff_t>(header_bytes_));
    header_bytes_ += part;
    bytes.remove_prefix(part);
    if (header_bytes_ < header_.size()) return std::nullopt;
    header_bytes_ = 0;
    if (std::optional<Breach> breach = TakeHeader(now)) return breach;
  }
  return std::nullopt;
}

std::optional<FrameGuard::Breach> FrameGuard::TakePreface(std::string_view& bytes) {
  const size_t part = std::min(kPreface.size() - preface_, bytes.size());
  if (bytes.substr(0, part) != kPreface.substr(preface_, part)) return Malformed("it does not begin as HTTP/2 does");
  preface_ += part;
  bytes.remove_prefix(part);
  return std::nullopt;
}

std::optional<FrameGuard::Breach> FrameGuard::TakeHeader(MonotonicTime now) {
  const auto byte = [this](size_t at) { return uint32_t{header_[at]}; };
  Header header;
  header.length = byte(0) << 16 | byte(1) << 8 | byte(2);
  header.type = header_[3];
  header.flags = header_[4];
  header.stream = (byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)) & 0x7fffffff;  // without the reserved bit
  payload_left_ = header.length;
  if (header.type == kContinuation) return TakeContinuation(header);
  if (block_stream_ != 0) return Malformed("a header block is interrupted by another frame");
  if (header.type == kHeaders) return TakeHeaders(header, now);
  return TakeOther(header, now);
}

std::optional<FrameGuard::Breach> FrameGuard::TakeHeaders(const Header& header, MonotonicTime now) {
  if (header.stream % 2 == 0) return Malformed("HEADERS of a stream that no client may open");
  const bool is_new = header.stream > highest_stream_;
  if (is_new) {
    highest_stream_ = header.stream;
    ++opened_;
  }
  if (std::optional<Breach> breach = Count(is_new ? kStreams : kTrailers, now)) return breach;
  block_stream_ = header.stream;
  block_bytes_ = 0;
  block_frames_ = 0;
  return AddToBlock(header);
}

std::optional<FrameGuard::Breach> FrameGuard::TakeContinuation(const Header& header) {
  if (block_stream_ == 0 || header.stream != block_stream_) return Malformed("a CONTINUATION of no header block");
  return AddToBlock(header);
}

std::optional<FrameGuard::Breach> FrameGuard::AddToBlock(const Header& header) {
  block_bytes_ += header.length;
  ++block_frames_;
  if (block_bytes_ > kMostBlockBytes || block_frames_ > kMostBlockFrames) {
    return Breach{"HTTP/2 header block",
                  absl::StrCat("a header block of ", block_bytes_, " bytes in ", block_frames_, " frames; at most ",
                               kMostBlockBytes, " in ", kMostBlockFrames, " are taken")};
  }
  if ((header.flags & kEndHeaders) != 0) block_stream_ = 0;
  return std::nullopt;
}

std::optional<FrameGuard::Breach> FrameGuard::TakeOther(const Header& header, MonotonicTime now) {
  const bool is_of_stream = header.stream != 0;
  switch (header.type) {
    case kData:
      if (!is_of_stream) return Malformed("DATA of no stream");
      if (header.length == 0 && (header.flags & kEndStream) == 0) {
        if (std::optional<Breach> breach = Count(kEmptyData, now)) return breach;
      }
      return Count(kDataFrames, now);
    case kPriority:
      if (header.length != 5 || !is_of_stream) return Malformed("a PRIORITY frame of a wrong size or stream");
      return Count(kPriorities, now);
    case kRstStream:
      if (header.length != 4 || !is_of_stream) return Malformed("a RST_STREAM frame of a wrong size or stream");
      return Count(kResets, now);
    case kSettings:
      if (header.length % 6 != 0 || header.length > 6 * kMostSettings || is_of_stream)
        return Malformed("a SETTINGS frame of a wrong size or stream");
      return Count(kSettingsFrames, now);
    case kPushPromise:
      return Malformed("a PUSH_PROMISE of a client");
    case kPing:
      if (header.length != 8 || is_of_stream) return Malformed("a PING frame of a wrong size or stream");
      return Count(kPings, now);
    case kGoAway:
      if (header.length < 8 || header.length > kMostOtherBytes || is_of_stream)
        return Malformed("a GOAWAY frame of a wrong size or stream");
      if (++goaways_ > kMostGoAways) return Breach{"HTTP/2 GOAWAY", "it says again and again that it goes away"};
      return std::nullopt;
    case kWindowUpdate:
      if (header.length != 4) return Malformed("a WINDOW_UPDATE frame of a wrong size");
      return Count(kWindows, now);
    default:
      if (header.length > kMostOtherBytes)
        return Malformed(absl::StrCat("a frame of unknown type ", header.type, " with ", header.length, " bytes"));
      return Count(kUnknown, now);
  }
}

// The generic cell rate algorithm: each one uses up its part of a second, and that may lie ahead of now by a burst.
std::optional<FrameGuard::Breach> FrameGuard::Count(size_t what, MonotonicTime now) {
  static_assert(std::size(kLimits) == kCounted);
  const Limit& limit = kLimits[what];
  const absl::Duration each = absl::Seconds(1) / limit.a_second;
  used_until_[what] = std::max(used_until_[what], now) + each;
  if (used_until_[what] - now <= each * limit.burst) return std::nullopt;
  return Breach{limit.kind, absl::StrCat("too many ", limit.what, ": more than ", limit.a_second, " a second, and ",
                                         limit.burst, " at once")};
}

}  // namespace muster::scheduler
