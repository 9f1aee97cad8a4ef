// Finds the two neighbours: dials the next rank and waits for the one before. Owned by one thread; never blocks.
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

// Takes the one hello that a new link begins with.
class HelloSink : public FrameSink {
 public:
  void OnControl(FrameType type, const std::string& payload) override {
    // Later frames belong to the link's next owner, so the link is not read again before it is handed over.
    if (type == FrameType::kHello && !is_wrong && !hello) hello = DecodeHello(payload);
    is_wrong = is_wrong || !hello || type != FrameType::kHello;
  }
  void OnStream(size_t) override { is_wrong = true; }
  Room RoomForChunk(size_t, char**) override { return Room::kWrong; }
  void OnChunk(size_t) override {}

  std::optional<Hello> hello;
  bool is_wrong = false;
};

struct Meeting {
  const Plan* plan = nullptr;
  const RingTls* tls = nullptr;  // null: plain
  uint64_t bytes = 0;            // of the sum; must be equal on both sides
  absl::Duration attempt_timeout;
  uint32_t slow_factor = 0;  // must be equal, too
};

// The hello of the link from `from` to the rank after it.
Hello HelloFor(const Meeting& meeting, uint32_t from);

// Dials the next rank until it is connected. A port that refuses may just not be listened on yet.
class Dialer {
 public:
  Dialer(const Meeting& meeting, MonotonicTime now) : meeting_(meeting), started_(now), retry_at_(now) {}
  void Step(MonotonicTime now);
  void AddTo(std::vector<pollfd>& fds) const;
  MonotonicTime NextWake() const;

  // Returns the link once the next rank has answered, once.
  std::unique_ptr<Link> TakeLink() { return std::move(done_); }
  // Dials again after the link was lost.
  void Restart(MonotonicTime now) { retry_at_ = now; }
  // The reason why the attempts failed so far; none: nothing is known yet.
  const std::optional<Fault>& failure() const { return failure_; }
  // True if another attempt would change nothing.
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

// Listens on the ring's port and accepts only the rank before. Other clients can't hold it up: their number and their
// time are limited. A connection from the neighbour's address is closed only for another one from that address. The
// oldest that has sent nothing yet goes first.
class NeighbourAcceptor {
 public:
  // The error says why the port can't be listened on.
  static absl::StatusOr<std::unique_ptr<NeighbourAcceptor>> Listen(const Meeting& meeting);

  void Step(MonotonicTime now);
  void AddTo(std::vector<pollfd>& fds) const;
  MonotonicTime NextWake() const;

  std::unique_ptr<Link> TakeLink() { return std::move(done_); }
  // The fault of a connection that claimed to be the rank before.
  const std::optional<Fault>& failure() const { return failure_; }
  // The number of connections that were turned away.
  int refused() const { return refused_; }

 private:
  // An accepted connection that has not identified itself yet.
  struct Candidate {
    std::optional<Channel> channel;  // until the handshake is done
    std::unique_ptr<Link> link;      // from then on
    HelloSink greeting;
    MonotonicTime deadline;
    bool is_from_neighbour = false;  // its address is the neighbour's
  };

  NeighbourAcceptor(const Meeting& meeting, UniqueFd listener) : meeting_(meeting), listener_(std::move(listener)) {}
  void TakeIn(MonotonicTime now);
  // Closes one connection of the same kind if there is no place for another.
  void MakeRoom(bool is_from_neighbour);
  // False: the connection is finished.
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
