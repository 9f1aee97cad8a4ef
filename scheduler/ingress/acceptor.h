// Accepts connections in a thread of its own and hands them to the relay, which passes them to gRPC.
//
// gRPC 1.51's own listener stops accepting for good when a flood of connections uses up the descriptors
// (CVE-2023-4785). The acceptor replaces it:
//
// - While descriptors are scarce, it leaves new connections in the kernel's listen queue.
// - It drops connections that send nothing or speak another protocol, before gRPC sees them.
// - It hands over the others gradually. At most ConnectionTable::Options::limit connections are in gRPC without having
//   made their first call. So a crowd's handshakes don't time out, and don't delay clients that are connected.
// - It closes unneeded connections in gRPC: see UnjoinedConnections.
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
  // The acceptor calls these without holding a lock. They must not block.
  struct Hooks {
    // Passes a TCP connection on, when its turn has come. The receiver must call NoteClosed when the connection has
    // ended. Called on the acceptor's thread.
    std::function<void(NamedConnection connection, UniqueFd fd)> hand_over;
    // Passes on a connection that came to the admin socket. Such a connection waits for no turn and has no number.
    // Called on the acceptor's thread.
    std::function<void(UniqueFd fd)> hand_over_unix;
    // Closes a connection that was handed over. Called on any thread.
    std::function<void(uint64_t id)> cut;
  };

  Acceptor(std::vector<Listener> listeners, Options options, Hooks hooks, const Clock& clock, CountedLog& counted);
  ~Acceptor();  // calls Stop

  absl::Status Start();
  // Ends the thread, and closes the listeners and all connections that were not handed over yet. Don't call it on the
  // acceptor's thread.
  void Stop();

  // Call it when a call has arrived over this connection. Any thread; cheap.
  void NoteCall(uint64_t id);
  // Call these when a stream of this connection has joined, when a joined stream has ended, and when the connection has
  // ended. Any thread; cheap.
  void NoteJoined(uint64_t id);
  void NoteLeft(uint64_t id);
  void NoteClosed(uint64_t id);

  // Closes all connections that have no joined stream and have made no new call for a second. Call it when memory is
  // scarce. Any thread.
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
  // Hands over waiting connections until gRPC has as many as it may have.
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
