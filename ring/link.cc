#include "ring/link.h"

#include <poll.h>

#include <algorithm>

namespace muster::ring {
namespace {

constexpr size_t kMaxKeptBytes = 256 * 1024;
constexpr size_t kPumpBytes = 512 * 1024;
constexpr size_t kScratchBytes = 64 * 1024;

bool IsControl(FrameType type) { return type != FrameType::kStream && type != FrameType::kChunk; }

}  // namespace

void Link::Send(FrameType type, const std::string& payload) {
  if (!is_open_) return;
  if (!write_error_.empty()) return;
  Segment segment;
  segment.owned = EncodeHeader(type, payload.size()) + payload;
  segment.size = segment.owned.size();
  kept_bytes_ += segment.size;
  if (kept_bytes_ > kMaxKeptBytes) return Fail("the peer reads nothing");
  outgoing_.push_back(std::move(segment));
}

void Link::SendBulk(FrameType type, const char* data, size_t size) {
  if (!is_open_) return;
  if (!write_error_.empty()) return;
  Segment header;
  header.owned = EncodeHeader(type, size);
  header.size = header.owned.size();
  kept_bytes_ += header.size;
  outgoing_.push_back(std::move(header));
  if (size > 0) outgoing_.push_back({"", data, size, 0});
}

short Link::Events() const {
  short events = is_paused_ ? 0 : POLLIN;
  if (!outgoing_.empty()) events = static_cast<short>(events | (write_awaits_ != 0 ? write_awaits_ : POLLOUT));
  return events;
}

void Link::Pump(FrameSink& sink, int max_frames) {
  has_more_ = false;
  if (is_open_ && write_error_.empty()) Write();
  if (is_open_) Read(sink, max_frames);
  if (is_open_ && write_error_.empty()) Write();  // the answers to what was read
  if (is_open_ && !write_error_.empty() && !has_more_) Fail(write_error_);
}

void Link::Fail(const std::string& reason) {
  is_open_ = false;
  reason_ = reason;
  outgoing_.clear();
}

bool Link::TakeRead(Channel::Io io) {
  if (io == Channel::Io::kDone) return true;
  if (io == Channel::Io::kClosed) Fail("the peer closed the connection");
  if (io == Channel::Io::kFailed) Fail(channel_.error());
  return false;
}

void Link::Write() {
  for (size_t budget = kPumpBytes; !outgoing_.empty() && budget > 0;) {
    Segment& segment = outgoing_.front();
    const char* data = segment.external != nullptr ? segment.external : segment.owned.data();
    size_t done = 0;
    const Channel::Io io =
        channel_.Write(data + segment.done, std::min(segment.size - segment.done, kScratchBytes), &done);
    if (io == Channel::Io::kAgain) write_awaits_ = channel_.awaited();
    if (io == Channel::Io::kFailed || io == Channel::Io::kClosed) {
      write_error_ = channel_.error();
      outgoing_.clear();
    }
    if (io != Channel::Io::kDone) return;
    segment.done += done;
    moved_ += done;
    budget -= std::min(budget, done);
    if (segment.done < segment.size) continue;
    kept_bytes_ -= segment.owned.size();
    outgoing_.pop_front();
  }
  write_awaits_ = 0;
}

void Link::Read(FrameSink& sink, int max_frames) {
  size_t budget = kPumpBytes;
  for (int frames = 0; is_open_; ++frames) {
    if (budget == 0 || frames == max_frames) {
      has_more_ = true;
      return;
    }
    if (!header_ && !ReadHeader()) return;
    if (!ReadPayload(sink, &budget)) return;
  }
}

bool Link::ReadHeader() {
  while (header_done_ < kHeaderBytes) {
    size_t done = 0;
    if (!TakeRead(channel_.Read(header_bytes_ + header_done_, kHeaderBytes - header_done_, &done))) return false;
    header_done_ += done;
    moved_ += done;
  }
  header_ = DecodeHeader(header_bytes_);
  if (!header_) return Fail("what the peer sends is not this protocol"), false;
  header_done_ = 0;
  payload_done_ = 0;
  chunk_ = nullptr;
  payload_.assign(IsControl(header_->type) ? header_->length : 0, '\0');
  return true;
}

bool Link::ReadPayload(FrameSink& sink, size_t* budget) {
  if (header_->type == FrameType::kChunk && chunk_ == nullptr) {
    const FrameSink::Room room = sink.RoomForChunk(header_->length, &chunk_);
    is_paused_ = room == FrameSink::Room::kLater;
    if (room == FrameSink::Room::kWrong) Fail("the peer sends a part of the sum out of order");
    if (room != FrameSink::Room::kHere) return false;
  }
  static thread_local char scratch[kScratchBytes];
  while (payload_done_ < header_->length) {
    if (*budget == 0) return true;
    const size_t left = std::min(header_->length - payload_done_, kScratchBytes);
    char* target = scratch;
    if (header_->type == FrameType::kChunk) target = chunk_ + payload_done_;
    if (IsControl(header_->type)) target = payload_.data() + payload_done_;
    size_t done = 0;
    if (!TakeRead(channel_.Read(target, left, &done))) return false;
    payload_done_ += done;
    moved_ += done;
    *budget -= std::min(*budget, done);
    if (header_->type == FrameType::kStream) sink.OnStream(done);
  }
  const FrameType type = header_->type;
  header_.reset();
  if (type == FrameType::kChunk) {
    sink.OnChunk(payload_done_);
  } else if (type != FrameType::kStream) {
    sink.OnControl(type, payload_);
  }
  return true;
}

}  // namespace muster::ring
