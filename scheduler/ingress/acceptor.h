// Accepts connections in a thread of its own and hands them to gRPC.
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
  // Takes the descriptor over. Called by the acceptor's thread.
  using HandOver = std::function<void(int fd, bool is_unix)>;

  Acceptor(std::vector<Listener> listeners, Options options, HandOver hand_over, const Clock& clock,
           CountedLog& counted);
  ~Acceptor();  // stops

  absl::Status Start();
  // Ends the thread and closes the listeners and what was not handed over yet. Not by the acceptor's thread.
  void Stop();

  // Any thread: a call has come from this peer, in gRPC's form. Cheap.
  void NoteCall(const std::string& grpc_peer);
  // So are these: a stream of this peer has joined, or has ended after that.
  void NoteJoined(const std::string& grpc_peer);
  void NoteLeft(const std::string& grpc_peer);

 private:
  void Run();
  int NextTimeoutMs();
  void SetListening(bool wanted);
  void AcceptSome(const Listener& listener);
  void Take(const Listener& listener, UniqueFd fd, const std::string& peer);
  // Peeks at a connection's first bytes: lets it wait for its turn, drops it, or leaves it silent.
  void Look(UniqueFd fd, const std::string& peer, bool is_new);
  void KeepSilent(UniqueFd fd, const std::string& peer, bool is_new);
  void DropIdle(const ConnectionTable::Silent& silent);
  // To gRPC, as many as it may have at once.
  void HandOverSome();
  void DropOverdue();
  void Sweep();
  void SweepUnjoined();
  void BreakOneTooMany(const PeerSocket& unjoined);
  bool HasDescriptor();

  std::vector<Listener> listeners_;
  const Options options_;
  const HandOver hand_over_;
  const Clock& clock_;
  CountedLog& counted_;
  UniqueFd epoll_;
  UniqueFd wake_;  // eventfd: Stop, or somebody's turn
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
