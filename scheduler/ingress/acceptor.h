// Accepts connections in a thread of its own and hands them over, to the relay and by it to gRPC.
//
// gRPC 1.51's own listener goes deaf for good when a flood of connects uses up the descriptors (CVE-2023-4785). Ours
// leaves connections in the listen queue while descriptors are scarce, drops those that say nothing or speak something
// else before gRPC ever sees them, and gives it the others by and by: gRPC has only so many at once that have not made
// their first call, so that the handshakes of a crowd neither time out nor hold up who is in already. It also breaks
// connections that gRPC has and that nobody needs: see UnjoinedConnections.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/net/poller.h"
#include "common/sys/log.h"
#include "scheduler/ingress/connection_table.h"
#include "scheduler/ingress/listener.h"

namespace muster::scheduler {

class Acceptor {
 public:
  struct Options {
    ConnectionTable::Options table;
    UnjoinedConnections::Options unjoined;
    size_t descriptor_bound = 1024 - 64;  // connections use only descriptor numbers below this
    bool expects_tls = false;             // what the first byte of a TCP connection must announce
  };
  // Called without a lock; must not block.
  struct Hooks {
    // A TCP connection's turn has come. NoteClosed has to tell when it has ended. By the acceptor's thread.
    std::function<void(NamedConnection connection, UniqueFd fd)> hand_over;
    // One over the admin socket, which needs no turn and has no number. By the acceptor's thread.
    std::function<void(UniqueFd fd)> hand_over_unix;
    // This one has to go. Any thread.
    std::function<void(uint64_t id)> cut;
  };

  Acceptor(std::vector<Listener> listeners, Options options, Hooks hooks, const Clock& clock, CountedLog& counted);
  ~Acceptor();  // stops

  absl::Status Start();
  // Ends the thread and closes the listeners and what was not handed over yet. Not by the acceptor's thread.
  void Stop();

  // Any thread: a call has come over this connection. Cheap.
  void NoteCall(uint64_t id);
  // So are these: a stream of it has joined, or has ended after that; it has ended.
  void NoteJoined(uint64_t id);
  void NoteLeft(uint64_t id);
  void NoteClosed(uint64_t id);

  // Any thread: memory gets scarce. Breaks the connections that have not joined and made no new call for a second.
  void Shed();

 private:
  static constexpr size_t kEventsAtOnce = 128;

  void Run();
  absl::Duration Patience();
  void SetListening(bool wanted);
  void AcceptSome(const Listener& listener);
  void Take(const Listener& listener, UniqueFd fd, const std::string& peer);
  // Peeks at a connection's first bytes: lets it wait for its turn, drops it, or leaves it silent.
  void Look(UniqueFd fd, const std::string& peer, bool is_new);
  void KeepSilent(UniqueFd fd, const std::string& peer, bool is_new);
  void DropIdle(const ConnectionTable::Silent& silent);
  // As many as may be under way at once.
  void HandOverSome();
  void DropOverdue();
  void Sweep();
  void SweepUnjoined();
  void CutOneTooMany(const NamedConnection& unjoined);
  bool HasDescriptor();

  std::vector<Listener> listeners_;
  const Options options_;
  const Hooks hooks_;
  const Clock& clock_;
  CountedLog& counted_;
  Poller poller_{kEventsAtOnce};  // woken by Stop, and for somebody's turn
  std::thread thread_;

  // The thread's own.
  bool is_listening_ = false;
  MonotonicTime last_sweep_, last_unjoined_sweep_;

  Mutex mutex_;
  ConnectionTable table_ ABSL_GUARDED_BY(mutex_);
  UnjoinedConnections unjoined_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::scheduler
