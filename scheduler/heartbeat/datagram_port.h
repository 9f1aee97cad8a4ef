// Heartbeats as datagrams: UDP on the same addresses and port number as the agents' TCP port.
//
// The port's own thread receives them, opens them with their stream's key, and posts the new ones to the loop. Any
// thread may send the loop's answers. A datagram that does not open gets no answer: its sender learns nothing, and
// can't direct answers at others. A heartbeat lost on the way, or dropped here in a flood, is sent again over the
// stream (worker_agent/core/connection/heartbeat_path.h).
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

// Decides which of one stream's heartbeat datagrams are accepted, and which answers go back as datagrams. Pure; its
// owner locks.
class HeartbeatGate {
 public:
  // True if the heartbeat is to be posted. An older one is a repetition, or late. At most one waits for the loop.
  bool Take(uint64_t heartbeat_seq) {
    if (heartbeat_seq <= heartbeat_seq_ || is_posted_) return false;
    heartbeat_seq_ = owed_seq_ = heartbeat_seq;
    is_posted_ = true;
    return true;
  }
  // The loop has applied it.
  void NoteApplied() { is_posted_ = false; }
  // True, once, if this heartbeat was accepted and is the latest.
  bool TakeAnswer(uint64_t heartbeat_seq) {
    if (owed_seq_ == 0 || owed_seq_ != heartbeat_seq) return false;
    owed_seq_ = 0;
    return true;
  }

 private:
  uint64_t heartbeat_seq_ = 0;  // the latest accepted
  uint64_t owed_seq_ = 0;       // accepted, but not answered yet; 0: none
  bool is_posted_ = false;
};

class DatagramPort {
 public:
  // Like Loop::Post.
  using PostHeartbeat = std::function<void(const HeartbeatReceived& heartbeat, std::function<void()> applied)>;

  // `sockets`: from OpenDatagramSockets, at least one. `has_secrets`: agents receive their keys over TLS. `counted`
  // must outlive the port.
  DatagramPort(std::vector<UniqueFd> sockets, bool has_secrets, CountedLog& counted);
  ~DatagramPort() { Stop(); }

  absl::Status Start(PostHeartbeat post);
  // Once it returns, nothing is posted any more.
  void Stop();

  // The functions below may be called on any thread.
  //
  // Accepts this stream's datagrams from now on.
  v1::DatagramOffer Admit(StreamId stream);
  void Forget(StreamId stream);
  // True if the heartbeat that this answers came as a datagram. Then the answer is sent as one to that heartbeat's
  // address; if the kernel doesn't take it, it is lost.
  bool Answer(StreamId stream, const v1::Acknowledgement& acknowledgement);
  size_t size() const;

 private:
  // The source of a datagram, and our address from which its answer goes.
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
    Way way;  // of the latest accepted one
  };
  class Batch;

  void Run();
  // Receives from one socket, up to a limit.
  void Take(int fd, Batch& batch);
  // True if it is well formed and opens with its stream's key, or may be a former stream's.
  bool Open(std::string_view bytes, const Way& way, std::vector<HeartbeatReceived>& heartbeats)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteApplied(StreamId stream);

  const std::vector<UniqueFd> sockets_;
  const bool has_secrets_;
  CountedLog& counted_;
  PostHeartbeat post_;
  const Waker stop_;  // awake once the thread must end
  std::thread thread_;

  mutable Mutex mutex_;
  DatagramSeal seal_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<StreamId, Sender> senders_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
