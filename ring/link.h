// Frames over a channel. Owned by one thread; never blocks, keeps nothing beyond its limits.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "ring/channel.h"
#include "ring/frames.h"

namespace muster::ring {

// Takes what a link reads.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void OnControl(FrameType type, const std::string& payload) = 0;
  virtual void OnStream(size_t bytes) = 0;
  // Where the next chunk goes. kLater: not before Resume; kWrong: nobody asked for it, or it has another length.
  enum class Room { kHere, kLater, kWrong };
  virtual Room RoomForChunk(size_t length, char** target) = 0;
  virtual void OnChunk(size_t length) = 0;
};

class Link {
 public:
  explicit Link(Channel channel) : channel_(std::move(channel)) {}

  // Kept until it is written; a peer that reads nothing ends the link once 256 KiB are kept.
  void Send(FrameType type, const std::string& payload = "");
  // `data` must stay until IsIdle.
  void SendBulk(FrameType type, const char* data, size_t size);
  bool IsIdle() const { return outgoing_.empty(); }

  // Does all that can be done now, up to a bound and at most so many frames; see HasMore.
  void Pump(FrameSink& sink, int max_frames = 256);
  // Whether Pump stopped at its bound: call it again without waiting.
  bool HasMore() const { return has_more_; }
  // Whether what comes next is a chunk that has no room yet: nothing is read until there is.
  bool IsPaused() const { return is_paused_; }

  // How many bytes were written and read: that something moves.
  uint64_t moved() const { return moved_; }

  bool is_open() const { return is_open_; }
  // Why it isn't.
  const std::string& reason() const { return reason_; }
  // A refusal of our certificate, which the peer may tell late.
  bool WasRefused() const { return channel_.fault().kind == FaultKind::kCertificateRefused; }
  int fd() const { return channel_.fd(); }
  // What to poll for; 0: nothing, as while it is paused with nothing to send. Leave it out then.
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
  std::string write_error_;  // told after all that can still be read: it may say why
  short write_awaits_ = 0;
};

}  // namespace muster::ring
