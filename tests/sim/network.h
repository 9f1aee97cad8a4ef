// The simulated network between the agents and the scheduler.
//
// A stream is TCP: in order and without loss inside one connection. A connection may break at any time; the ends may
// notice that at different times or (half-open) much later. Different connections overtake each other. A dial may be
// lost, refused, delayed (an old Join arrives after a newer one) or duplicated. A partition blocks one direction or
// both of a machine's link: bytes in transit wait until the link heals or the ends give up (dead-peer detection). A
// datagram belongs to a stream, and may be lost, late or duplicated.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/events.h"
#include "tests/sim/random.h"
#include "tests/sim/sim.h"

namespace muster::sim {

// The end that dials.
class AgentEnd {
 public:
  virtual ~AgentEnd() = default;
  virtual void OnMessage(uint64_t connect_seq, const v1::SchedulerMessage& message) = 0;
  virtual void OnBroken(uint64_t connect_seq, const std::string& reason) = 0;
  virtual void OnAnswered(uint64_t connect_seq, const v1::Acknowledgement& acknowledgement) = 0;
};

// The end that accepts.
class SchedulerEnd {
 public:
  virtual ~SchedulerEnd() = default;
  virtual bool IsUp() const = 0;
  virtual void OnMessage(StreamId stream, const std::string& peer_address, const v1::AgentMessage& message) = 0;
  virtual void OnHeartbeat(const scheduler::HeartbeatReceived& heartbeat) = 0;
  virtual void OnClosed(StreamId stream) = 0;
  // Returns the bytes of a published round, or null.
  virtual std::shared_ptr<const std::string> GetPeers(const std::string& job_id, uint64_t run, uint32_t round) = 0;
  virtual void OnLastReport(const v1::LastReportRequest& last_report) = 0;
  using StoreDone = std::function<void(absl::StatusOr<v1::StoreReply>)>;
  virtual void OnStoreCall(const scheduler::StoreOperation& operation, StoreDone done) = 0;
};

class Network {
 public:
  using PeersReply = std::function<void(absl::Status, std::shared_ptr<const std::string>)>;

  Network(Sim& sim, Random random);
  void SetScheduler(SchedulerEnd* scheduler) { scheduler_ = scheduler; }

  // ---- an agent's side. `agent` must live as long as the network, or until AgentDied.
  void Dial(AgentEnd* agent, size_t machine, uint64_t connect_seq, bool is_replacement);
  void Send(AgentEnd* agent, uint64_t connect_seq, const v1::AgentMessage& message);
  // Sends it as a datagram; fills in the stream.
  void SendHeartbeat(AgentEnd* agent, uint64_t connect_seq, scheduler::HeartbeatReceived heartbeat);
  void HangUp(AgentEnd* agent, uint64_t connect_seq = 0);  // 0: all of its streams
  // Its process has ended: bytes that it had sent still go out, unless `is_silent` (the machine is gone).
  void AgentDied(AgentEnd* agent, bool is_silent);
  void GetPeers(size_t machine, const std::string& job_id, uint64_t run, uint32_t round, PeersReply reply);
  void SendLastReport(size_t machine, const v1::LastReportRequest& last_report);

  // Calls the store. The call, or its answer, may be lost; the call may come twice, the second time late.
  void CallStore(size_t machine, const scheduler::StoreOperation& operation, SchedulerEnd::StoreDone done);

  // ---- the scheduler's side.
  void Send(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message);
  void Answer(StreamId stream, const v1::Acknowledgement& acknowledgement);  // by datagram
  void CloseStream(StreamId stream);
  void SchedulerDied();

  // ---- faults.
  void BreakOne(Random& random);
  void Partition(size_t machine, bool up, bool down, absl::Duration length);
  void HealAll();

 private:
  template <typename Message>
  struct Direction {
    struct Item {
      MonotonicTime ready;
      Message message;  // nullopt: the end of the stream
    };
    std::deque<Item> queue;
    MonotonicTime last;  // nothing arrives before what was sent earlier
    bool is_pumping = false;
    bool is_cut = false;
  };
  struct Connection {
    StreamId id = 0;
    size_t machine = 0;
    AgentEnd* agent = nullptr;  // null: a copy from a duplicated dial, or the agent is dead
    uint64_t connect_seq = 0;
    StreamId copy = 0;
    bool is_accepted = false;
    bool is_open_here = false;  // at the scheduler
    bool is_open_there = true;  // at the agent
    bool is_refused = false;
    Direction<std::optional<v1::AgentMessage>> up;
    Direction<std::shared_ptr<const v1::SchedulerMessage>> down;
  };
  using Handle = std::shared_ptr<Connection>;
  struct Link {
    bool is_up_blocked = false;
    bool is_down_blocked = false;
    uint64_t epoch = 0;  // of the present partition, or of the time without one
  };

  Handle NewConnection(AgentEnd* agent, size_t machine, uint64_t connect_seq);
  Handle Find(StreamId id);
  Handle Current(AgentEnd* agent, uint64_t connect_seq);
  absl::Duration Latency(size_t machine);
  absl::Duration DetectionTime();
  bool IsUpBlocked(const Connection& c) const;
  template <typename Message>
  void Push(const Handle& c, Direction<Message>& direction, Message message);
  void PumpUp(const Handle& c);
  void PumpDown(const Handle& c);
  void DeliverUp(const Handle& c, const std::optional<v1::AgentMessage>& message);
  void DeliverDown(const Handle& c, const std::shared_ptr<const v1::SchedulerMessage>& message);
  void EndHere(const Handle& c);
  void EndThere(const Handle& c, const std::string& reason);
  // Calls `arrive` for each copy that comes through, at its arrival.
  void SendDatagram(size_t machine, std::function<void()> arrive);
  void Break(const Handle& c, absl::Duration here_after, absl::Duration there_after, const std::string& reason);
  void Forget(const Handle& c);
  void Heal(size_t machine);

  Sim& sim_;
  Random random_;
  Random store_random_;
  Random datagram_random_;
  SchedulerEnd* scheduler_ = nullptr;
  StreamId last_id_ = 0;
  std::vector<Link> links_;
  std::map<StreamId, Handle> connections_;
  std::map<AgentEnd*, std::map<uint64_t, StreamId>> current_;  // by connect_seq
};

}  // namespace muster::sim
