// Sends and receives frames over a channel. Owned by one thread. Never blocks. Its memory use is limited.
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
  // Sets *target to the place for the next chunk, and returns kHere. kLater: there is no place yet; the link asks again
  // at the next Pump. kWrong: no chunk, or none of this length, may come now.
  enum class Room { kHere, kLater, kWrong };
  virtual Room RoomForChunk(size_t length, char** target) = 0;
  virtual void OnChunk(size_t length) = 0;
};

class Link {
 public:
  explicit Link(Channel channel) : channel_(std::move(channel)) {}

  // Queues the frame. If the peer reads nothing and more than 256 KiB are queued, the link fails.
  void Send(FrameType type, const std::string& payload = "");
  // Queues a frame without copying `data`, which must stay valid until IsIdle returns true.
  void SendBulk(FrameType type, const char* data, size_t size);
  bool IsIdle() const { return outgoing_.empty(); }

  // Reads and writes what is possible now without blocking, up to a limit of bytes, and reads at most `max_frames`.
  void Pump(FrameSink& sink, int max_frames = 256);
  // True if Pump stopped at its limit: call it again without waiting.
  bool HasMore() const { return has_more_; }
  // True if the next frame is a chunk for which the sink has no place yet. The link reads nothing until it has one.
  bool IsPaused() const { return is_paused_; }

  // The number of bytes written and read so far, which shows progress.
  uint64_t moved() const { return moved_; }

  bool is_open() const { return is_open_; }
  // The reason why the link is closed.
  const std::string& reason() const { return reason_; }
  // True if the peer refused our certificate. This may become true some time after the handshake.
  bool WasRefused() const { return channel_.fault().kind == FaultKind::kCertificateRefused; }
  int fd() const { return channel_.fd(); }
  // The events to poll for. 0: none, for example while the link is paused and has nothing to send. Then leave it out of
  // the poll.
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
  // Both return false if nothing more can be read now.
  bool ReadHeader();
  bool ReadPayload(FrameSink& sink, size_t* budget);
  bool TakeRead(Channel::Io io);
  void Fail(const std::string& reason);

  Channel channel_;
  std::deque<Segment> outgoing_;
  uint64_t moved_ = 0;
  size_t kept_bytes_ = 0;  // bytes of frames in outgoing_, without SendBulk's data
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
  std::string write_error_;  // reported only after the link has read all that has come, which may show the cause
  short write_awaits_ = 0;
};

}  // namespace muster::ring
