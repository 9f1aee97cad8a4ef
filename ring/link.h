// Frames over a channel. Owned by one thread; never blocks; keeps nothing beyond its limits.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "ring/channel.h"
#include "ring/frames.h"

namespace muster::ring {

// Receives what a link reads.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void OnControl(FrameType type, const std::string& payload) = 0;
  virtual void OnStream(size_t bytes) = 0;
  // Says where to put the next chunk. kLater: ask again at the next Pump. kWrong: it was not expected, or not this
  // length.
  enum class Room { kHere, kLater, kWrong };
  virtual Room RoomForChunk(size_t length, char** target) = 0;
  virtual void OnChunk(size_t length) = 0;
};

class Link {
 public:
  explicit Link(Channel channel) : channel_(std::move(channel)) {}

  // Keeps the frame until it is written. Fails the link if a peer reads nothing and 256 KiB are kept.
  void Send(FrameType type, const std::string& payload = "");
  // `data` must stay valid until IsIdle.
  void SendBulk(FrameType type, const char* data, size_t size);
  bool IsIdle() const { return outgoing_.empty(); }

  // Reads and writes what it can now, up to a limit of bytes and of `max_frames`; see HasMore.
  void Pump(FrameSink& sink, int max_frames = 256);
  // True if Pump stopped at its limit: call it again without waiting.
  bool HasMore() const { return has_more_; }
  // True if the next frame is a chunk that has no room yet. The link reads nothing until it has.
  bool IsPaused() const { return is_paused_; }

  // The number of bytes written and read so far, which shows progress.
  uint64_t moved() const { return moved_; }

  bool is_open() const { return is_open_; }
  // The reason why the link is closed.
  const std::string& reason() const { return reason_; }
  // The peer refused our certificate. It may say so late.
  bool WasRefused() const { return channel_.fault().kind == FaultKind::kCertificateRefused; }
  int fd() const { return channel_.fd(); }
  // The events to poll for. 0: none, as while it is paused with nothing to send; then leave it out of the poll.
  short Events() const;

 private:
  struct Segment {
    std::string owned;
    const char* external = nullptr;
    size_t size = 0;
    size_t done = 0;
  };

  void Write();
  void Read(FrameSink& sink, int max_frames);
  // False: nothing more can be read now.
  bool ReadHeader();
  bool ReadPayload(FrameSink& sink, size_t* budget);
  bool TakeRead(Channel::Io io);
  void Fail(const std::string& reason);

  Channel channel_;
  std::deque<Segment> outgoing_;
  uint64_t moved_ = 0;
  size_t kept_bytes_ = 0;  // of control frames in outgoing_
  char header_bytes_[kHeaderBytes] = {};
  size_t header_done_ = 0;
  std::optional<Header> header_;
  std::string payload_;
  char* chunk_ = nullptr;
  size_t payload_done_ = 0;
  bool has_more_ = false;
  bool is_paused_ = false;
  bool is_open_ = true;
  std::string reason_;
  std::string write_error_;  // reported after all that can still be read, which may give the cause
  short write_awaits_ = 0;
};

}  // namespace muster::ring
