// Accepts connections in a thread of its own and hands them to the relay, which passes them to gRPC.
//
// gRPC 1.51's own listener stops accepting for good when a flood of connections uses up the descriptors
// (CVE-2023-4785). This one leaves connections in the listen queue while descriptors are scarce. It drops those that
// send nothing or another protocol before gRPC sees them, and hands over the others gradually. gRPC gets only so many
// at once that have not made their first call, so that a crowd's handshakes neither time out nor delay clients that are
// connected. It also closes connections in gRPC that are not needed: see UnjoinedConnections.
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
    bool expects_tls = false;             // the first byte of a TCP connection must begin TLS
  };
  // Called without a lock; must not block.
  struct Hooks {
    // Hands over a TCP connection at its turn. Call NoteClosed when it has ended. On the acceptor's thread.
    std::function<void(NamedConnection connection, UniqueFd fd)> hand_over;
    // Hands over a connection to the admin socket, which needs no turn and has no number. On the acceptor's thread.
    std::function<void(UniqueFd fd)> hand_over_unix;
    // Closes this connection. Any thread.
    std::function<void(uint64_t id)> cut;
  };

  Acceptor(std::vector<Listener> listeners, Options options, Hooks hooks, const Clock& clock, CountedLog& counted);
  ~Acceptor();  // stops

  absl::Status Start();
  // Ends the thread; closes the listeners and all connections not handed over yet. Not on the acceptor's thread.
  void Stop();

  // Any thread: a call has arrived over this connection. Cheap.
  void NoteCall(uint64_t id);
  // Any thread: a stream of this connection has joined; a joined one has ended; the connection has ended. Cheap.
  void NoteJoined(uint64_t id);
  void NoteLeft(uint64_t id);
  void NoteClosed(uint64_t id);

  // Any thread. Call it when memory is scarce: closes connections that have not joined and made no new call for a
  // second.
  void Shed();

 private:
  static constexpr size_t kEventsAtOnce = 128;

  void Run();
  absl::Duration Patience();
  void SetListening(bool wanted);
  void AcceptSome(const Listener& listener);
  void Take(const Listener& listener, UniqueFd fd, const std::string& peer);
  // Peeks at a connection's first bytes: queues it for its turn, drops it, or leaves it silent.
  void Look(UniqueFd fd, const std::string& peer, bool is_new);
  void KeepSilent(UniqueFd fd, const std::string& peer, bool is_new);
  void DropIdle(const ConnectionTable::Silent& silent);
  // Hands over as many as may be in gRPC at once.
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
  Poller poller_{kEventsAtOnce};  // woken by Stop, and when a connection may have its turn
  std::thread thread_;

  // Owned by the thread.
  bool is_listening_ = false;
  MonotonicTime last_sweep_, last_unjoined_sweep_;

  Mutex mutex_;
  ConnectionTable table_ ABSL_GUARDED_BY(mutex_);
  UnjoinedConnections unjoined_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::scheduler
