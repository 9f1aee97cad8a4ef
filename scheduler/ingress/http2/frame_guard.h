// Holds what a client sends over HTTP/2 to limits that no honest client comes near, before gRPC sees it.
//
// gRPC 1.51 has no limit of its own for a header block that never ends, for streams that are reset as fast as they are
// opened (CVE-2023-44487), nor for frames that cost it work and the client nothing, and its memory quota sees none of
// them. The guard reads the preface and the headers of frames (RFC 9113, 3.4 and 4.1), in whatever pieces they come,
// and never what is in them: no HPACK, no messages. So it holds back no byte and copies none.
//
//   what a client sends                        limit
//   a header block, CONTINUATION included      bytes and frames; nothing in between (RFC 9113, 6.10)
//   a new stream                               so many a second; its number rises (5.1.1)
//   HEADERS of an open stream (trailers)       so many a second
//   DATA                                       frames a second; those without a byte that end nothing, far fewer
//   RST_STREAM, PING, SETTINGS, PRIORITY,      so many a second of each; the sizes that RFC 9113 asks for
//   WINDOW_UPDATE, unknown ones
//   GOAWAY                                     a few in all
//   PUSH_PROMISE                               none: no client may send it (8.4)
//
// It goes when Debian's gRPC has limits of its own: see docs/decisions/relay-before-grpc.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"

namespace muster::scheduler {

class FrameGuard {
 public:
  // What broke a limit: the connection is to be cut.
  struct Breach {
    const char* kind = "";  // a few words, for counting: "HTTP/2 header block"
    std::string text;       // what was too much, for people
  };

  // The next bytes from the client, at least one. Nothing more may come after a breach.
  std::optional<Breach> Take(std::string_view bytes, MonotonicTime now);

  // Streams that the client has opened so far.
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
  std::optional<Breach> TakeContinuation(const Header& header);
  std::optional<Breach> AddToBlock(const Header& header);
  std::optional<Breach> TakeOther(const Header& header, MonotonicTime now);
  std::optional<Breach> Count(size_t what, MonotonicTime now);

  size_t preface_ = 0;               // bytes of it that have come
  std::array<uint8_t, 9> header_{};  // of the next frame …
  size_t header_bytes_ = 0;          // … as far as it has come
  uint32_t payload_left_ = 0;        // of the present frame
  uint32_t block_stream_ = 0;        // whose header block is open; 0: none
  size_t block_bytes_ = 0;
  uint32_t block_frames_ = 0;
  uint32_t highest_stream_ = 0;
  uint64_t opened_ = 0;
  uint32_t goaways_ = 0;

  // Of each kind of thing that is counted: until when its rate is used up (see Count).
  static constexpr size_t kCounted = 10;
  std::array<MonotonicTime, kCounted> used_until_;
};

}  // namespace muster::scheduler
