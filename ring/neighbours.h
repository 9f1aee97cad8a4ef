// Finding the two neighbours: the next rank is dialed, the one before is waited for. Owned by one thread, never block.
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
    // What comes behind it belongs to whoever gets the link, so the link is not read again before it is handed over.
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
  uint64_t bytes = 0;            // of the sum, which both must want alike
  absl::Duration attempt_timeout;
  uint32_t slow_factor = 0;  // and this as well
};

// The hello of the link from `from` to the rank after it.
Hello HelloFor(const Meeting& meeting, uint32_t from);

// Dials the next rank until a connection stands: a port that refuses may just not be listened on yet.
class Dialer {
 public:
  Dialer(const Meeting& meeting, MonotonicTime now) : meeting_(meeting), started_(now), retry_at_(now) {}
  void Step(MonotonicTime now);
  void AddTo(std::vector<pollfd>& fds) const;
  MonotonicTime NextWake() const;

  // Once, when the next rank has answered.
  std::unique_ptr<Link> TakeLink() { return std::move(done_); }
  // After the link was lost: again.
  void Restart(MonotonicTime now) { retry_at_ = now; }
  // What the attempts failed of so far; none: nothing is known yet.
  const std::optional<Fault>& failure() const { return failure_; }
  // Trying again would change nothing.
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

// Listens on the ring's port and lets in the rank before, and nobody else. Strangers can't hold it up: they are bounded
// in number and in time, and who comes from where the rank before is gives way only to others from there, those first
// that have said nothing yet.
class Doorkeeper {
 public:
  // The error says why the port can't be listened on.
  static absl::StatusOr<std::unique_ptr<Doorkeeper>> Listen(const Meeting& meeting);

  void Step(MonotonicTime now);
  void AddTo(std::vector<pollfd>& fds) const;
  MonotonicTime NextWake() const;

  std::unique_ptr<Link> TakeLink() { return std::move(done_); }
  // What was wrong with one who claimed to be the rank before.
  const std::optional<Fault>& failure() const { return failure_; }
  // How many were turned away that were somebody else.
  int strangers() const { return strangers_; }

 private:
  // Somebody at the door, who has not said yet who it is.
  struct Guest {
    std::optional<Channel> channel;  // until the handshake is done
    std::unique_ptr<Link> link;      // from then on
    HelloSink greeting;
    MonotonicTime deadline;
    bool is_from_neighbour = false;  // from its address, that is
  };

  Doorkeeper(const Meeting& meeting, UniqueFd listener) : meeting_(meeting), listener_(std::move(listener)) {}
  void TakeIn(MonotonicTime now);
  // Sends one of its kind away when there is no place for one more.
  void MakeRoom(bool is_from_neighbour);
  // False: the guest is gone.
  bool Attend(Guest& guest, MonotonicTime now);
  void TurnAway(const Guest& guest, FaultKind kind, const std::string& detail);

  const Meeting meeting_;
  UniqueFd listener_;
  std::list<Guest> guests_;
  std::unique_ptr<Link> done_;
  std::optional<Fault> failure_;
  int strangers_ = 0;
};

}  // namespace muster::ring
