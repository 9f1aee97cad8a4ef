// Chooses the way of the next heartbeat: as a datagram, over the stream, or both.
//
// A datagram costs both ends much less than a message on the stream. But it may be lost, and a firewall may let none
// through. So the first datagram only accompanies a heartbeat over the stream. If a datagram has no answer when the
// next heartbeat is due, this heartbeat goes both ways again. After kTries losses in a row, datagrams are tried only
// every kTryEvery.
//
// The stream must be checked, too, because only it carries orders. So at least every kStreamEvery a heartbeat goes over
// the stream. If this heartbeat has no answer when some further ones are due, the agent stops sending datagrams. The
// node is then silent, as it should be: it can receive no orders. Meanwhile the agent dials another stream: after a
// network outage, TCP may pause for as long as the outage lasted before it sends on the old stream again.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "worker_agent/core/connection/jitter.h"

namespace muster::agent {

class HeartbeatPath {
 public:
  // The longest time between two heartbeats over the stream.
  static constexpr absl::Duration kStreamEvery = absl::Seconds(60);
  // Between two tries by datagram once kTries in a row have failed.
  static constexpr absl::Duration kTryEvery = absl::Seconds(60);
  static constexpr int kTries = 3;

  enum class Way { kStream, kDatagram, kBoth };

  // `is_offered`: the scheduler takes datagrams for this stream.
  void StreamOpened(MonotonicTime now, bool is_offered, Jitter& jitter);

  // Notes that a heartbeat of any kind is due. It does not count if it comes within `interval` of the last one that
  // counted, because it only carries news. Returns true once, when the stream counts as silent from this heartbeat on.
  bool CountDue(MonotonicTime now, absl::Duration interval);
  // Returns the way of a heartbeat that is due now and carries no news.
  Way Choose(MonotonicTime now);
  void DatagramSent(uint64_t heartbeat_seq) { awaited_ = heartbeat_seq; }
  void StreamSent(uint64_t heartbeat_seq, MonotonicTime now);
  // An answer by datagram has come for this heartbeat of the present stream. Even a late answer shows that datagrams
  // get through.
  void DatagramAnswered(uint64_t heartbeat_seq);
  // An answer to this heartbeat, or to one after it, has come over the stream.
  void StreamAnswered(uint64_t heartbeat_seq);

  // Returns true if kTries datagrams in a row had no answer although the stream had one. Usually a firewall blocks
  // them.
  bool is_dead() const { return failures_ >= kTries && stream_awaited_ == 0; }

 private:
  bool IsStreamSilent() const;

  bool is_offered_ = false;
  bool was_answered_ = false;
  uint64_t awaited_ = 0;         // the last datagram, while it has no answer; 0: none
  int failures_ = 0;             // in a row
  uint64_t stream_awaited_ = 0;  // the first heartbeat over the stream that has no answer; 0: none
  int stream_silence_ = 0;       // how many heartbeats were due since stream_awaited_ was sent
  MonotonicTime counted_at_;     // when the last of these was due, or stream_awaited_ was sent
  MonotonicTime try_at_;
  MonotonicTime stream_at_;  // when a heartbeat goes over the stream at the latest
};

}  // namespace muster::agent
