// Heartbeats that come as datagrams: UDP beside the agents' TCP port, on the same addresses and with the same number.
//
// A thread of its own takes them, opens them with their stream's key, and posts those that are new to the loop; the
// loop's answers go out from whatever thread brings them. Nothing is said to a datagram that doesn't open: whoever sent
// it learns nothing, and can't have others answered at. What is lost on the way, or dropped here in a flood, comes
// again over the stream (worker_agent/core/connection/heartbeat_path.h).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "common/net/datagram.h"
#include "common/net/waker.h"
#include "common/sys/log.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/events.h"

namespace muster::scheduler {

// Which heartbeats of one stream are taken that come as datagrams, and which answers go back as such. Pure; its owner
// locks.
class HeartbeatGate {
 public:
  // True if it is to be posted. What came before is a repetition, or too late; no more than one waits for the loop.
  bool Take(uint64_t heartbeat_seq) {
    if (heartbeat_seq <= heartbeat_seq_ || is_posted_) return false;
    heartbeat_seq_ = owed_seq_ = heartbeat_seq;
    is_posted_ = true;
    return true;
  }
  // The loop has applied it.
  void NoteApplied() { is_posted_ = false; }
  // True, once, if this one was taken and is the latest.
  bool TakeAnswer(uint64_t heartbeat_seq) {
    if (owed_seq_ == 0 || owed_seq_ != heartbeat_seq) return false;
    owed_seq_ = 0;
    return true;
  }

 private:
  uint64_t heartbeat_seq_ = 0;  // the latest that was taken
  uint64_t owed_seq_ = 0;       // it has no answer yet; 0: none
  bool is_posted_ = false;
};

class DatagramPort {
 public:
  // As Loop::Post.
  using PostHeartbeat = std::function<void(const HeartbeatReceived& heartbeat, std::function<void()> applied)>;

  // `sockets`: of OpenDatagramSockets, at least one. `has_secrets`: agents are told their keys over TLS. `counted` must
  // outlive the port.
  DatagramPort(std::vector<UniqueFd> sockets, bool has_secrets, CountedLog& counted);
  ~DatagramPort() { Stop(); }

  absl::Status Start(PostHeartbeat post);
  // Nothing is posted any more once it has returned.
  void Stop();

  // Any thread, all of them.
  //
  // From now on this stream's datagrams are taken.
  v1::DatagramOffer Admit(StreamId stream);
  void Forget(StreamId stream);
  // True if the heartbeat that this answers came as a datagram: then so does its answer. Sent to where that heartbeat
  // came from; what the kernel doesn't take is lost.
  bool Answer(StreamId stream, const v1::Acknowledgement& acknowledgement);
  size_t size() const;

 private:
  // Where a datagram came from, and from which of our addresses its answer goes.
  struct Way {
    int fd = -1;
    sockaddr_in6 peer{};  // large enough for both families
    socklen_t peer_size = 0;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in6_pktinfo))] = {};
    size_t control_size = 0;
  };
  struct Sender {
    DatagramKey key;
    HeartbeatGate gate;
    Way way;  // of the latest that was taken
  };
  class Batch;

  void Run();
  // Takes what has come to one socket, up to a limit.
  void Take(int fd, Batch& batch);
  // True if it opens.
  bool Open(std::string_view bytes, const Way& way, std::vector<HeartbeatReceived>& heartbeats)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteApplied(StreamId stream);

  const std::vector<UniqueFd> sockets_;
  const bool has_secrets_;
  CountedLog& counted_;
  PostHeartbeat post_;
  const Waker stop_;  // awake once the thread shall end
  std::thread thread_;

  mutable Mutex mutex_;
  DatagramSeal seal_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<StreamId, Sender> senders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
