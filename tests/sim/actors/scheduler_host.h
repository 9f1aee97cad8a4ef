// One scheduler machine: a real scheduler core behind the real outbox, a simulated journal, and a loop that works in
// batches, as scheduler/loop/loop.h describes. It can be paused, stopped and started again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/core/core.h"
#include "scheduler/core/state/events.h"
#include "scheduler/heartbeat/datagram_port.h"
#include "scheduler/loop/outbox.h"
#include "tests/sim/checks/world_invariants.h"
#include "tests/sim/network.h"
#include "tests/sim/random.h"
#include "tests/sim/sim.h"

namespace muster::sim {

class SchedulerHost : public SchedulerEnd {
 public:
  SchedulerHost(Sim& sim, Network& network, WorldInvariants& invariants, Random random);

  void Start();
  // SIGKILL. Records that were not durable are lost; without a disk, all are.
  void Crash();
  // SIGTERM: drains, then ends.
  void Stop();
  void Pause(absl::Duration length);

  // An admin call.
  void Ask(scheduler::QueryRequest request);
  void AskToStop(const std::string& job_id);
  void Steer(const v1::SteerRequest& request);
  void AskForStacks(const std::string& job_id);

  // True after the end of a `--once` scheduler with its run: it is not started again.
  bool IsForGood() const { return is_for_good_; }

  void CheckLossesAreInTime();

  bool IsUp() const override { return core_ != nullptr; }
  void OnMessage(StreamId stream, const std::string& peer_address, const v1::AgentMessage& message) override;
  void OnHeartbeat(const scheduler::HeartbeatReceived& heartbeat) override;
  void OnClosed(StreamId stream) override;
  std::shared_ptr<const std::string> GetPeers(const std::string& job_id, uint64_t run, uint32_t round) override;
  void OnLastReport(const v1::LastReportRequest& last_report) override;
  void OnStoreCall(const scheduler::StoreOperation& operation, StoreDone done) override;

 private:
  struct Queued {
    scheduler::Event event;
    MonotonicTime posted;
  };

  void Post(scheduler::Event event);
  void WakeAt(MonotonicTime time);
  void Wake();
  void NoteLateness();
  void Apply(const scheduler::Event& event);
  void Gather(scheduler::Effects effects);
  void Store();
  void BecomeDurable(uint64_t count);
  void Release();
  void CheckRecovery();
  void Carry(scheduler::Persist&) {}
  void Carry(scheduler::Send& send);
  void Carry(scheduler::CloseStream& close);
  void Carry(scheduler::Answer& answer);
  void Carry(scheduler::PublishPeers& publish);
  void Carry(scheduler::ForgetPeers& forget);
  void Carry(scheduler::Announce& announce);
  void Carry(scheduler::RunSettled& settled);
  void Transmit(const scheduler::Send& send);

  Sim& sim_;
  Network& network_;
  WorldInvariants& invariants_;
  Random random_;
  uint64_t life_ = 0;  // counts the starts; plans of an earlier life are void
  bool is_for_good_ = false;

  std::unique_ptr<scheduler::Core> core_;
  std::unique_ptr<scheduler::Outbox> outbox_;
  std::deque<Queued> queue_;
  MonotonicTime wakes_at_ = MonotonicTime::Never();
  MonotonicTime paused_from_;
  MonotonicTime ran_;  // when the loop ran last
  MonotonicTime paused_until_;
  MonotonicTime last_step_;
  int steps_now_ = 0;

  std::vector<v1::Record> batch_;    // of the present turn of the loop
  std::vector<v1::Record> journal_;  // all appended records; the first `durable_` survive
  size_t durable_ = 0;
  size_t recovered_ = 0;  // records of earlier lives
  MonotonicTime last_durable_at_;
  std::string snapshot_;  // the live state right after record number snapshot_at_
  size_t snapshot_at_ = 0;
  std::map<std::tuple<std::string, uint64_t, uint32_t>, std::shared_ptr<const std::string>> published_;
  scheduler::QueryId last_query_ = 0;
  std::map<scheduler::QueryId, std::string> queries_;
  struct StoreCall {
    scheduler::StoreOperation operation;
    StoreDone done;
  };
  std::map<scheduler::QueryId, StoreCall> store_calls_;
  std::map<StreamId, scheduler::HeartbeatGate> gates_;  // of the streams from which datagrams are accepted
};

}  // namespace muster::sim
