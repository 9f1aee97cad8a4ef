#include "worker_agent/core/connection/heartbeat_path.h"

#include <utility>

namespace muster::agent {
namespace {

// After more than this many heartbeats without an answer the stream counts as silent. A scheduler that is slow for a
// moment must not get a new connection from each of its agents.
constexpr int kStreamPatience = 3;  // heartbeats

}  // namespace

void HeartbeatPath::StreamOpened(MonotonicTime now, bool is_offered, Jitter& jitter) {
  *this = HeartbeatPath();
  is_offered_ = is_offered;
  // The time is random, so that agents that joined together don't all send at once.
  if (is_offered) stream_at_ = now + kStreamEvery * jitter.Factor(0, 1);
}

bool HeartbeatPath::IsStreamSilent() const { return stream_awaited_ != 0 && stream_silence_ > kStreamPatience; }

bool HeartbeatPath::CountDue(MonotonicTime now, absl::Duration interval) {
  if (stream_awaited_ == 0 || now < counted_at_ + interval) return false;
  const bool was_silent = IsStreamSilent();
  ++stream_silence_;
  counted_at_ = now;
  return IsStreamSilent() && !was_silent;
}

HeartbeatPath::Way HeartbeatPath::Choose(MonotonicTime now) {
  if (!is_offered_) return Way::kStream;
  if (std::exchange(awaited_, 0) != 0 && ++failures_ >= kTries) try_at_ = now + kTryEvery;
  const bool is_proven = was_answered_ && failures_ == 0;
  if (is_proven && !IsStreamSilent() && now < stream_at_) return Way::kDatagram;
  stream_at_ = now + kStreamEvery;
  return is_proven || IsStreamSilent() || now < try_at_ ? Way::kStream : Way::kBoth;
}

void HeartbeatPath::StreamSent(uint64_t heartbeat_seq, MonotonicTime now) {
  if (stream_awaited_ != 0) return;
  stream_awaited_ = heartbeat_seq;
  counted_at_ = now;
  stream_silence_ = 0;
}

void HeartbeatPath::DatagramAnswered(uint64_t heartbeat_seq) {
  if (heartbeat_seq == awaited_) awaited_ = 0;
  was_answered_ = true;
  failures_ = 0;
  try_at_ = {};
}

void HeartbeatPath::StreamAnswered(uint64_t heartbeat_seq) {
  if (heartbeat_seq >= stream_awaited_) stream_awaited_ = 0;
}

}  // namespace muster::agent
