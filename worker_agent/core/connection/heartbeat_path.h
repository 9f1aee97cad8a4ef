// The way of the next heartbeat: as a datagram, over the stream, or both.
//
// A datagram costs either end a small part of a message on the stream, but may get lost, or never get through (a
// firewall). So it has to prove itself: the first goes beside a heartbeat over the stream. If one stays unanswered
// until the next is due, that one goes both ways again. Losses in a row make the attempts rare.
// The stream has to prove itself, too, since only it carries orders: now and then a heartbeat goes that way, and while
// that one has no answer none goes by datagram. So a node that orders can't reach falls silent, as it should. The agent
// opens another stream meanwhile: after a cut of the network TCP may wait as long again before it tries the old one.
#pragma once

#include <cstdint>

#include "common/base/clock.h"
#include "worker_agent/core/connection/jitter.h"

namespace muster::agent {

class HeartbeatPath {
 public:
  static constexpr absl::Duration kStreamEvery = absl::Seconds(60);  // over the stream at least so often
  static constexpr absl::Duration kTryEvery = absl::Seconds(60);     // once kTries in a row have failed
  static constexpr int kTries = 3;

  enum class Way { kStream, kDatagram, kBoth };

  // `is_offered`: the scheduler takes datagrams for this stream.
  void StreamOpened(MonotonicTime now, bool is_offered, Jitter& jitter);

  // A heartbeat is due, of any kind; one that comes within `interval` of the last one that counted (news) does not
  // count. True once when the stream falls silent with it.
  bool CountDue(MonotonicTime now, absl::Duration interval);
  // Returns the way of a heartbeat that is due now and carries no news.
  Way Choose(MonotonicTime now);
  void DatagramSent(uint64_t heartbeat_seq) { awaited_ = heartbeat_seq; }
  void StreamSent(uint64_t heartbeat_seq, MonotonicTime now);
  // A datagram has come back for this heartbeat of the present stream; late or not, it shows that they get through.
  void DatagramAnswered(uint64_t heartbeat_seq);
  // An answer to this heartbeat, or to one after it, has come over the stream.
  void StreamAnswered(uint64_t heartbeat_seq);

  // kTries in a row have stayed without an answer while the stream had its own: a firewall, as a rule.
  bool is_dead() const { return failures_ >= kTries && stream_awaited_ == 0; }

 private:
  bool IsStreamSilent() const;

  bool is_offered_ = false;
  bool was_answered_ = false;
  uint64_t awaited_ = 0;         // the last datagram, while it has no answer; 0: none
  int failures_ = 0;             // in a row
  uint64_t stream_awaited_ = 0;  // the first heartbeat over the stream that has no answer; 0: none
  int stream_silence_ = 0;       // heartbeats that came due since that one …
  MonotonicTime counted_at_;     // … the last of them, or that one
  MonotonicTime try_at_;
  MonotonicTime stream_at_;  // when a heartbeat goes over the stream at the latest
};

}  // namespace muster::agent
