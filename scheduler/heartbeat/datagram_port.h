// Heartbeats as datagrams: UDP on the same addresses and port number as the agents' TCP port.
//
// The port's own thread receives the datagrams, opens each with its stream's key (common/net/datagram.h), and posts new
// heartbeats to the loop. Any thread may send the loop's answers. A datagram that does not open with the key gets no
// answer. So an unknown sender learns nothing, and can't make this port send answers to someone else's address. When
// the network or this port drops a heartbeat, the agent sends it again over the stream
// (worker_agent/core/connection/heartbeat_path.h).
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

// Decides which heartbeat datagrams of one stream are accepted, and which answers go back as datagrams. Pure. Not
// thread-safe: its owner locks a mutex around each call.
class HeartbeatGate {
 public:
  // True if the caller must post the heartbeat to the loop. False if its number is not new (a repetition, or it came
  // late), or while another heartbeat of this stream still waits for the loop.
  bool Take(uint64_t heartbeat_seq) {
    if (heartbeat_seq <= heartbeat_seq_ || is_posted_) return false;
    heartbeat_seq_ = owed_seq_ = heartbeat_seq;
    is_posted_ = true;
    return true;
  }
  // Call it once the loop has applied the posted heartbeat.
  void NoteApplied() { is_posted_ = false; }
  // True if the answer to this heartbeat must go as a datagram: it is the latest accepted heartbeat, and it has not
  // been answered yet.
  bool TakeAnswer(uint64_t heartbeat_seq) {
    if (owed_seq_ == 0 || owed_seq_ != heartbeat_seq) return false;
    owed_seq_ = 0;
    return true;
  }

 private:
  uint64_t heartbeat_seq_ = 0;  // the number of the latest accepted heartbeat
  uint64_t owed_seq_ = 0;       // the heartbeat that was accepted, but not answered yet; 0: none
  bool is_posted_ = false;
};

class DatagramPort {
 public:
  // As Loop::Post: hands the heartbeat to the loop, which calls `applied` once it has applied it.
  // The heartbeat's progress has not been checked.
  using PostHeartbeat = std::function<void(HeartbeatReceived heartbeat, std::function<void()> applied)>;

  // `sockets`: at least one, from OpenDatagramSockets. `has_secrets`: agents receive their keys over TLS, so the keys
  // are secret. `counted` must outlive the port.
  DatagramPort(std::vector<UniqueFd> sockets, bool has_secrets, CountedLog& counted);
  ~DatagramPort() { Stop(); }

  absl::Status Start(PostHeartbeat post);
  // Ends the thread. Nothing is posted after Stop has returned.
  void Stop();

  // The functions below may be called on any thread.
  //
  // Accepts this stream's datagrams from now on. Returns the key that the agent needs for them.
  v1::DatagramOffer Admit(StreamId stream);
  void Forget(StreamId stream);
  // If the acknowledged heartbeat came as a datagram: sends the acknowledgement as a datagram to its sender's address,
  // and returns true, even if the kernel refuses to send it. Otherwise returns false.
  bool Answer(StreamId stream, const v1::Acknowledgement& acknowledgement);
  size_t size() const;

 private:
  // The source address of a datagram, and the local address from which we send the answer.
  struct Way {
    int fd = -1;
    sockaddr_in6 peer{};  // also has room for an IPv4 address
    socklen_t peer_size = 0;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in6_pktinfo))] = {};
    size_t control_size = 0;
  };
  struct Sender {
    DatagramKey key;
    HeartbeatGate gate;
    Way way;  // of the latest accepted datagram
  };
  class Batch;

  void Run();
  // Receives what waits on one socket, at most kBatchesAtOnce batches.
  void Take(int fd, Batch& batch);
  // False if the datagram is malformed or does not open with its stream's key. True otherwise, also for an unknown
  // stream, which may have just closed. Adds a new heartbeat to `heartbeats`.
  bool Open(std::string_view bytes, const Way& way, std::vector<HeartbeatReceived>& heartbeats)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteApplied(StreamId stream);

  const std::vector<UniqueFd> sockets_;
  const bool has_secrets_;
  CountedLog& counted_;
  PostHeartbeat post_;
  const Waker stop_;  // woken once the thread must end
  std::thread thread_;

  mutable Mutex mutex_;
  DatagramSeal seal_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<StreamId, Sender> senders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
