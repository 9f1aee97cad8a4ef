// Connects a rank to its two neighbours: it dials the next rank, and accepts a connection from the previous one. Owned
// by one thread. Never blocks.
#pragma once

#include <poll.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "ring/fault.h"
#include "ring/frames.h"
#include "ring/link.h"
#include "ring/plan.h"
#include "ring/ring_tls.h"

namespace muster::ring {

// Receives the hello with which a new link begins.
class HelloSink : public FrameSink {
 public:
  void OnControl(FrameType type, const std::string& payload) override {
    // (Later frames are for RingCheck, so the link must not be read again before RingCheck has it.)
    if (type == FrameType::kHello && !is_wrong && !hello) hello = DecodeHello(payload);
    is_wrong = is_wrong || !hello || type != FrameType::kHello;
  }
  void OnStream(size_t) override { is_wrong = true; }
  Room RoomForChunk(size_t, char**) override { return Room::kWrong; }
  void OnChunk(size_t) override {}

  std::optional<Hello> hello;
  bool is_wrong = false;
};

// The data that both Dialer and NeighbourAcceptor need.
struct Meeting {
  const Plan* plan = nullptr;
  const RingTls* tls = nullptr;    // null: without TLS
  uint64_t bytes = 0;              // the size of the sum; must be equal on both sides
  absl::Duration attempt_timeout;  // for one attempt to connect
  uint32_t slow_factor = 0;        // must be equal on both sides
};

// Returns the hello for the link from the rank `from` to the next rank.
Hello HelloFor(const Meeting& meeting, uint32_t from);

// Dials the next rank until it is connected. It dials again after a refusal, because the next rank may not listen yet.
class Dialer {
 public:
  Dialer(const Meeting& meeting, MonotonicTime now) : meeting_(meeting), started_(now), retry_at_(now) {}
  void Step(MonotonicTime now);
  void AddTo(std::vector<pollfd>& fds) const;
  MonotonicTime NextWake() const;

  // Returns the link, once, after the next rank has answered with its hello. Null before that.
  std::unique_ptr<Link> TakeLink() { return std::move(done_); }
  // Dials again after the link was lost.
  void Restart(MonotonicTime now) { retry_at_ = now; }
  // The fault of the last attempt that failed; none: no attempt has failed yet.
  const std::optional<Fault>& failure() const { return failure_; }
  // True if further attempts are useless, because a certificate was refused. Then Step does nothing more.
  bool IsHopeless() const { return is_hopeless_; }

 private:
  enum class State { kIdle, kConnecting, kHandshaking, kGreeting };

  void Open(MonotonicTime now);
  void Connect(MonotonicTime now);
  void Handshake(MonotonicTime now);
  void Greet(MonotonicTime now);
  void Fail(FaultKind kind, const std::string& detail, MonotonicTime now);

  const Meeting meeting_;
  const MonotonicTime started_;
  State state_ = State::kIdle;
  UniqueFd fd_;
  std::optional<Channel> channel_;
  std::unique_ptr<Link> link_;
  HelloSink greeting_;
  std::unique_ptr<Link> done_;
  MonotonicTime attempt_deadline_ = MonotonicTime::Never();
  MonotonicTime retry_at_;
  int attempts_ = 0;
  std::optional<Fault> failure_;
  bool is_hopeless_ = false;
};

// Listens on the ring's port and accepts only the previous rank. The number of other clients and their time are
// limited, so that they can't block it. If there are too many connections, it closes the oldest one that has sent
// nothing. A connection from the neighbour's address makes room only for another one from that address.
class NeighbourAcceptor {
 public:
  // The error says why the port can't be listened on.
  static absl::StatusOr<std::unique_ptr<NeighbourAcceptor>> Listen(const Meeting& meeting);

  void Step(MonotonicTime now);
  void AddTo(std::vector<pollfd>& fds) const;
  MonotonicTime NextWake() const;

  std::unique_ptr<Link> TakeLink() { return std::move(done_); }
  // The fault of a refused connection from the previous rank's address; none: there was no such connection.
  const std::optional<Fault>& failure() const { return failure_; }
  // The number of connections that were turned away.
  int refused() const { return refused_; }

 private:
  // An accepted connection that has not identified itself yet.
  struct Candidate {
    std::optional<Channel> channel;  // set until the handshake is done
    std::unique_ptr<Link> link;      // set after the handshake
    HelloSink greeting;
    MonotonicTime deadline;
    bool is_from_neighbour = false;  // it comes from the previous rank's address
  };

  NeighbourAcceptor(const Meeting& meeting, UniqueFd listener) : meeting_(meeting), listener_(std::move(listener)) {}
  void TakeIn(MonotonicTime now);
  // Closes a connection if there are too many of the same kind (from the neighbour's address, or from elsewhere).
  void MakeRoom(bool is_from_neighbour);
  // Goes on with the handshake and the hello of a connection. False: remove the candidate; it was accepted or refused.
  bool Attend(Candidate& candidate, MonotonicTime now);
  void TurnAway(const Candidate& candidate, FaultKind kind, const std::string& detail);

  const Meeting meeting_;
  UniqueFd listener_;
  std::list<Candidate> candidates_;
  std::unique_ptr<Link> done_;
  std::optional<Fault> failure_;
  int refused_ = 0;
};

}  // namespace muster::ring
