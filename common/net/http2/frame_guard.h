// Checks a client's HTTP/2 input against limits before gRPC sees it.
//
// gRPC 1.51 itself does not limit a header block that never ends, streams that are reset as fast as they are opened
// (CVE-2023-44487), or frames that cost gRPC work and the client nothing. Its memory quota counts none of them. The
// guard reads only the preface and the headers of frames (RFC 9113, 3.4 and 4.1), in pieces of any size. It never reads
// their content: neither HPACK nor messages.
//
//   what a client sends                        the limit, and what happens beyond it
//   a header block with its CONTINUATIONs      bytes and frames, no other frame in between (RFC 9113, 6.10): cut
//   GOAWAY                                     a few in all: cut
//   PUSH_PROMISE, frames of a wrong size       none is allowed (8.4, 6): cut
//   streams while SETTINGS is unacknowledged   their number and the time (6.5.3), if both are exceeded: cut. Until the
//                                              acknowledgement, gRPC itself does not limit their number
//   everything else                            a rate for each kind: slowed down. The kinds are new streams, bytes of
//                                              header blocks, trailers, DATA, empty DATA, RST_STREAM, PING, SETTINGS,
//                                              PRIORITY, WINDOW_UPDATE, unknown frames
//
// A client that exceeds a rate is read more slowly and loses nothing, because an honest client may be that fast, too:
// gRPC for Go sends 113 PING in a second to measure its bandwidth, and a C++ client opened 14,000 streams.
//
// Remove this when Debian's gRPC has limits of its own: see docs/decisions/relay-before-grpc.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/clock.h"

namespace muster {

class FrameGuard {
 public:
  // A limit that the client broke. Its connection must be cut.
  struct Breach {
    const char* kind = "";  // a few words, for counting: "HTTP/2 header block"
    std::string text;       // what the client sent too much of, for people
  };

  struct Taken {
    size_t bytes = 0;              // taken from the front of the input; the rest must wait until paused_until()
    std::optional<Breach> breach;  // no input may follow a breach
  };
  // Takes the next bytes from the client, at least one. Must not be called before paused_until().
  Taken Take(std::string_view bytes, MonotonicTime now);

  // Returns the time until which no input is taken, because the client was too fast.
  MonotonicTime paused_until() const { return paused_until_; }
  // Returns which rate the client has exceeded, once for each pause.
  std::optional<Breach> TakePause() { return std::exchange(pause_, std::nullopt); }

  // Returns how many streams the client has opened so far.
  uint64_t opened() const { return opened_; }

 private:
  struct Header {
    uint32_t length = 0;
    uint8_t type = 0;
    uint8_t flags = 0;
    uint32_t stream = 0;
  };

  std::optional<Breach> TakePreface(std::string_view& bytes);
  std::optional<Breach> TakeHeader(MonotonicTime now);
  std::optional<Breach> TakeHeaders(const Header& header, MonotonicTime now);
  std::optional<Breach> TakeContinuation(const Header& header, MonotonicTime now);
  std::optional<Breach> AddToBlock(const Header& header, MonotonicTime now);
  std::optional<Breach> TakeOther(const Header& header, MonotonicTime now);
  std::optional<Breach> CheckAcknowledged(MonotonicTime now);
  void Count(size_t what, MonotonicTime now, uint32_t number = 1);

  size_t preface_ = 0;               // how many bytes of the preface have come
  std::array<uint8_t, 9> header_{};  // the header of the next frame, as far as it has come
  size_t header_bytes_ = 0;          // how many bytes of header_ have come
  uint32_t payload_left_ = 0;        // how many bytes of the present frame are still to come
  uint32_t block_stream_ = 0;        // the stream with an open header block; 0: none
  size_t block_bytes_ = 0;
  uint32_t block_frames_ = 0;
  uint32_t highest_stream_ = 0;
  uint64_t opened_ = 0;
  uint32_t goaways_ = 0;
  MonotonicTime begun_at_;  // when the preface was complete
  bool has_acknowledged_ = false;
  MonotonicTime paused_until_;
  std::optional<Breach> pause_;

  // For each kind of thing that is counted: the time until which its rate is used up (see Count).
  static constexpr size_t kCounted = 13;
  std::array<MonotonicTime, kCounted> used_until_;
};

}  // namespace muster
