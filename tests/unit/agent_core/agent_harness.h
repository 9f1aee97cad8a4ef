// Drives an AgentCore by hand: every step returns the effects as text, one line each, and checks the invariants.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/agent_core.h"

namespace muster::agent {

// One line for each effect; reports show their events, messages the fields that matter.
std::string ToText(const Effects& effects);

AgentOptions SmallOptions(int slots = 1);

class AgentHarness {
 public:
  explicit AgentHarness(AgentOptions options = SmallOptions()) : core_(std::move(options)) {}

  std::string Do(const Event& event);
  // Lets time pass, stopping at each deadline on the way.
  std::string Pass(absl::Duration duration);

  // After this the scheduler answers each report that Pass sees.
  void AnswerReports() { answers_reports_ = true; }

  std::string Begin() { return Do(agent::Begin{}); }
  std::string Receive(v1::SchedulerMessage message);
  std::string Break(const std::string& reason);
  std::string Welcome(bool is_resumed = false, uint64_t events_through = 0, absl::Duration fence = {});
  // The welcome offers to take heartbeats by datagram.
  std::string WelcomeWithDatagrams(absl::Duration fence = {}, bool takes_progress = false);
  std::string AnswerDatagram(uint64_t heartbeat_seq, absl::Duration fence = {});
  std::string Refuse(v1::Refusal::Reason reason, const std::string& text = "because", uint32_t retry_after_ms = 0);
  std::string Acknowledge(uint64_t events_through);
  std::string Desire(const v1::DesiredState& desired);
  std::string Peers(uint32_t round, const absl::Status& status = absl::OkStatus());
  std::string Started(uint32_t slot, uint32_t round = 1, uint32_t attempt = 0);
  std::string Ended(uint32_t slot, int exit_code, int signal = 0, bool was_stopped = false, uint32_t round = 1);
  // A process died and left descendants (Died); they are gone (Cleared); one of them can't be killed (Stuck).
  std::string Died(uint32_t slot, int exit_code, int signal = 0, bool was_stopped = false);
  std::string Cleared(uint32_t slot) { return Do(NothingLeft{{slot, 1, 0}}); }
  std::string Stuck(uint32_t slot) {
    return Do(ProcessIsStuck{{slot, 1, 0}, 700 + slot, "python3", "D", absl::Seconds(5)});
  }
  std::string Made(uint32_t slot, std::optional<uint64_t> step, uint32_t round = 1, uint32_t attempt = 0) {
    return Do(ProgressMade{{slot, round, attempt}, step});
  }
  // Time passes without any event, as in a sleep of the machine.
  void Sleep(absl::Duration duration) { now_ = now_ + duration; }
  std::string Signal(int signal) { return Do(EndSignal{signal}); }

  // Afterwards the agent is welcomed, has sent one heartbeat, and has launched and started round 1 of `slots` ranks;
  // all of this is acknowledged.
  void RunRound(uint32_t slots = 1, absl::Duration fence = {});

  AgentCore& core() { return core_; }
  absl::Duration now() const { return now_ - MonotonicTime(); }
  uint64_t connect_seq() const { return connect_seq_; }
  const Effects& last() const { return last_; }

 private:
  void AnswerReportsOf(const Effects& effects);
  v1::SchedulerMessage WelcomeMessage(bool is_resumed, uint64_t events_through, absl::Duration fence) const;

  AgentCore core_;
  MonotonicTime now_;
  uint64_t connect_seq_ = 0;
  uint64_t heartbeat_seq_ = 0;
  absl::Duration fence_;  // of the round that RunRound started
  Effects last_;
  bool answers_reports_ = false;
};

v1::DesiredState Running(uint32_t slots, uint32_t round = 1, uint32_t attempt = 0);
v1::DesiredState InPhase(v1::RunPhase phase, uint32_t round);
v1::DesiredState Succeeded(uint32_t round = 1);
v1::DesiredState Failed(v1::Cause::Kind kind, uint32_t round = 1);

}  // namespace muster::agent
