#include "common/net/http2/frame_guard.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113, 3.4
// The header blocks of our clients have 300 bytes, and 20 once gRPC has remembered the headers' names. A single byte
// can stand for a whole header, which takes at least 50 bytes of gRPC's memory in each stream of a connection.
constexpr size_t kMaxBlockBytes = 2 * 1024;
constexpr uint32_t kMaxBlockFrames = 4;
constexpr uint32_t kMaxSettings = 64;           // in one frame; HTTP/2 defines only six settings
constexpr uint32_t kMaxOtherBytes = 16 * 1024;  // of GOAWAY's debug data, or of a frame of unknown type
constexpr uint32_t kMaxGoAways = 4;

// Frame types (RFC 9113, 6).
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
constexpr uint8_t kAck = 0x1;
constexpr uint8_t kEndHeaders = 0x4;

// The kinds of things that are counted. Each kind has a rate a second that is allowed for long, and a `burst` that is
// allowed at once.
enum Counted {
  kStreams,
  kHeaderBytes,
  kEarlyHeaderBytes,
  kUnacknowledged,
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
    {"HTTP/2 streams", "new streams", 1000, 1000},
    {"HTTP/2 header bytes", "bytes of header blocks", 64 * 1024, 64 * 1024},
    {"HTTP/2 header bytes before SETTINGS", "bytes of header blocks without a SETTINGS acknowledgement", 4 * 1024,
     16 * 1024},
    {"HTTP/2 streams before SETTINGS", "streams without a SETTINGS acknowledgement", 20, 20},
    {"HTTP/2 trailers", "HEADERS of open streams", 50, 100},
    {"HTTP/2 DATA", "DATA frames", 20'000, 20'000},
    {"HTTP/2 empty DATA", "empty DATA frames", 50, 200},
    {"HTTP/2 resets", "RST_STREAM frames", 200, 100},
    {"HTTP/2 PING", "PING frames", 500, 500},
    {"HTTP/2 SETTINGS", "SETTINGS frames", 50, 100},
    {"HTTP/2 PRIORITY", "PRIORITY frames", 50, 200},
    {"HTTP/2 WINDOW_UPDATE", "WINDOW_UPDATE frames", 5000, 5000},
    {"HTTP/2 unknown frames", "frames of unknown types", 20, 50},
};
constexpr uint64_t kMaxUnacknowledged = 100;  // streams opened before the client acknowledges SETTINGS
constexpr absl::Duration kMaxAcknowledgeTime = absl::Seconds(10);

FrameGuard::Breach Malformed(const std::string& text) { return {"HTTP/2 malformed", text}; }

}  // namespace

FrameGuard::Taken FrameGuard::Take(std::string_view bytes, MonotonicTime now) {
  const size_t given = bytes.size();
  const auto taken = [&](std::optional<Breach> breach = std::nullopt) {
    return Taken{given - bytes.size(), std::move(breach)};
  };
  if (preface_ < kPreface.size()) {
    if (std::optional<Breach> breach = TakePreface(bytes)) return taken(std::move(breach));
    begun_at_ = now;
  }
  while (!bytes.empty() && paused_until_ <= now) {
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
    if (header_bytes_ < header_.size()) break;
    header_bytes_ = 0;
    if (std::optional<Breach> breach = TakeHeader(now)) return taken(std::move(breach));
  }
  return taken();
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
  header.stream = (byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)) & 0x7fffffff;  // the first bit is reserved
  payload_left_ = header.length;
  if (header.type == kContinuation) return TakeContinuation(header, now);
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
  if (is_new) {
    if (std::optional<Breach> breach = CheckAcknowledged(now)) return breach;
  }
  Count(is_new ? kStreams : kTrailers, now);
  block_stream_ = header.stream;
  block_bytes_ = 0;
  block_frames_ = 0;
  return AddToBlock(header, now);
}

std::optional<FrameGuard::Breach> FrameGuard::TakeContinuation(const Header& header, MonotonicTime now) {
  if (block_stream_ == 0 || header.stream != block_stream_) return Malformed("a CONTINUATION without a header block");
  return AddToBlock(header, now);
}

std::optional<FrameGuard::Breach> FrameGuard::CheckAcknowledged(MonotonicTime now) {
  if (has_acknowledged_ || opened_ <= kMaxUnacknowledged) return std::nullopt;
  Count(kUnacknowledged, now);
  if (now - begun_at_ <= kMaxAcknowledgeTime) return std::nullopt;
  return Breach{"HTTP/2 SETTINGS unacknowledged",
                absl::StrCat("it has opened ", opened_, " streams and not acknowledged the server's SETTINGS")};
}

std::optional<FrameGuard::Breach> FrameGuard::AddToBlock(const Header& header, MonotonicTime now) {
  Count(has_acknowledged_ ? kHeaderBytes : kEarlyHeaderBytes, now, header.length);
  block_bytes_ += header.length;
  ++block_frames_;
  if (block_bytes_ > kMaxBlockBytes || block_frames_ > kMaxBlockFrames) {
    return Breach{"HTTP/2 header block",
                  absl::StrCat("a header block of ", block_bytes_, " bytes in ", block_frames_, " frames; at most ",
                               kMaxBlockBytes, " in ", kMaxBlockFrames, " are allowed")};
  }
  if ((header.flags & kEndHeaders) != 0) block_stream_ = 0;
  return std::nullopt;
}

std::optional<FrameGuard::Breach> FrameGuard::TakeOther(const Header& header, MonotonicTime now) {
  const bool is_of_stream = header.stream != 0;
  switch (header.type) {
    case kData:
      if (!is_of_stream) return Malformed("DATA without a stream");
      if (header.length == 0 && (header.flags & kEndStream) == 0) {
        Count(kEmptyData, now);
      }
      Count(kDataFrames, now);
      return std::nullopt;
    case kPriority:
      if (header.length != 5 || !is_of_stream) return Malformed("a PRIORITY frame of a wrong size or stream");
      Count(kPriorities, now);
      return std::nullopt;
    case kRstStream:
      if (header.length != 4 || !is_of_stream) return Malformed("a RST_STREAM frame of a wrong size or stream");
      Count(kResets, now);
      return std::nullopt;
    case kSettings:
      if (header.length % 6 != 0 || header.length > 6 * kMaxSettings || is_of_stream)
        return Malformed("a SETTINGS frame of a wrong size or stream");
      if ((header.flags & kAck) != 0) has_acknowledged_ = true;
      Count(kSettingsFrames, now);
      return std::nullopt;
    case kPushPromise:
      return Malformed("a PUSH_PROMISE of a client");
    case kPing:
      if (header.length != 8 || is_of_stream) return Malformed("a PING frame of a wrong size or stream");
      Count(kPings, now);
      return std::nullopt;
    case kGoAway:
      if (header.length < 8 || header.length > kMaxOtherBytes || is_of_stream)
        return Malformed("a GOAWAY frame of a wrong size or stream");
      if (++goaways_ > kMaxGoAways) return Breach{"HTTP/2 GOAWAY", "it sends GOAWAY again and again"};
      return std::nullopt;
    case kWindowUpdate:
      if (header.length != 4) return Malformed("a WINDOW_UPDATE frame of a wrong size");
      Count(kWindows, now);
      return std::nullopt;
    default:
      if (header.length > kMaxOtherBytes)
        return Malformed(absl::StrCat("a frame of unknown type ", header.type, " with ", header.length, " bytes"));
      Count(kUnknown, now);
      return std::nullopt;
  }
}

// The generic cell rate algorithm: each item uses up its share of a second. The used-up time may run ahead of `now` by
// one burst; if it runs further ahead, the client is paused.
void FrameGuard::Count(size_t what, MonotonicTime now, uint32_t number) {
  static_assert(std::size(kLimits) == kCounted);
  const Limit& limit = kLimits[what];
  const absl::Duration each = absl::Seconds(1) / limit.a_second;
  used_until_[what] = std::max(used_until_[what], now) + each * number;
  const MonotonicTime free_at = used_until_[what] - each * limit.burst;
  if (free_at <= now) return;
  paused_until_ = std::max(paused_until_, free_at);
  pause_ = Breach{limit.kind, absl::StrCat("more than ", limit.a_second, " ", limit.what, " a second, on top of ",
                                           limit.burst, " at once")};
}

}  // namespace muster
