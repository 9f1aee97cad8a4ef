// Tracks which nodes are alive: handles heartbeats, events and last reports, and acts when a node is silent or a
// deadline is due.
//
//   reporting.cc  handles the messages of joined agents, and broken streams
//   timing.cc     handles deadlines
#pragma once

#include <vector>

#include "scheduler/core/context/context.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/lighthouse/lighthouses.h"
#include "scheduler/core/membership/membership.h"
#include "scheduler/core/places/places.h"
#include "scheduler/core/stacks/log_inquiry.h"
#include "scheduler/core/stacks/stack_inquiry.h"
#include "scheduler/core/store/store_service.h"

namespace muster::scheduler {

class Liveness {
 public:
  Liveness(Context& context, Places& places, StoreService& store, Lifecycle& lifecycle, StackInquiry& stacks,
           LogInquiry& logs, Lighthouses& lighthouses, Membership& membership)
      : context_(context),
        places_(places),
        store_(store),
        lifecycle_(lifecycle),
        stacks_(stacks),
        logs_(logs),
        lighthouses_(lighthouses),
        membership_(membership) {}

  // ---- reporting.cc
  void On(const ReportReceived& event);
  void On(const HeartbeatReceived& event);
  void On(const ProbeAnswered& event);
  void On(const StreamClosed& event);
  void On(const LastReportReceived& event);

  // ---- timing.cc
  void On(const Tick& event);
  void On(const LoopWasLate& event);

 private:
  // ---- reporting.cc
  void Hear(Run& run, Node& node, uint32_t armed_fence_ms);
  void Acknowledge(Run& run, Node& node, uint64_t heartbeat_seq);
  // The new events of a report, and their consequences.
  struct NewEvents {
    v1::Record record;                     // NodeReported
    std::vector<CauseCandidate> failures;  // one for each process that failed
    const v1::NodeEvent* leaving = nullptr;
    uint32_t checked_round = 0;    // after which the node has passed its node check; 0: the events don't say so
    bool is_unasked_stop = false;  // processes were stopped, but this scheduler knows of no order to stop them
  };
  void TakeEvents(Run& run, Node& node, const v1::Report& report);
  NewEvents SelectNew(const Run& run, const Node& node, const v1::Report& report) const;
  void JudgeEnd(const Run& run, const Node& node, const v1::NodeEvent& event, NewEvents& selected) const;
  void ActOnFailures(Run& run, Node& node, NewEvents& taken);
  void TakeHalted(Run& run, Node& node, const v1::Report& report);
  void TakeStuck(Run& run, Node& node, const v1::Report& report);
  void TakeProgress(Run& run, Node& node, const v1::Report& report);
  void HearOfLeaving(Run& run, Node& node, const v1::NodeLeaving& leaving, MonotonicTime when);
  void TakeLastReport(const LastReportReceived& event);
  void SetGrace(Node& node);

  // ---- timing.cc
  void TakeDue();
  void OnDue(Run& run);
  void OnDue(Run& run, Node& node);
  void FailForMissing(Run& run);
  bool SuspectsItself();

  Context& context_;
  Places& places_;
  StoreService& store_;
  Lifecycle& lifecycle_;
  StackInquiry& stacks_;
  LogInquiry& logs_;
  Lighthouses& lighthouses_;
  Membership& membership_;
};

}  // namespace muster::scheduler
