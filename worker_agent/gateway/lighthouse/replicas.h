// The torchft replica groups in this agent's processes: when each last called, which of them wait for a quorum, and the
// reports on them to the scheduler (proto/muster/v1/store.proto, ReplicasReport). Pure; one caller at a time.
//
//   when a report is sent          at once after a new call, a call that was given up, or a process's end, as long as
//                                  fewer than kMaxOpen reports are open. Without such a change: if there is a replica
//                                  and no report is open, half the wait time after the last report
//   when a report got no answer    again after kPause, with all that is known by then. The calls go on waiting
//   (no scheduler)
//   when a report was refused      again after kLongPause. Each waiting call ends with the reason
//   when a replica is forgotten    when its process ends; or when it has no waiting call and is silent for twice the
//                                  heartbeat time-out, since the scheduler declares it dead long before
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "muster/v1/store.pb.h"

namespace muster::lighthouse {

struct Settings {
  std::string name;
  uint32_t min_replicas = 1;
  absl::Duration join_timeout = absl::Seconds(60);
  absl::Duration heartbeat_timeout = absl::Seconds(5);
};

class Replicas {
 public:
  static constexpr size_t kMaxOpen = 4;
  // A report waits this long for its answer, but at most a quarter of the heartbeat time-out, because only the next
  // report brings the heartbeats that have come since.
  static constexpr absl::Duration kWait = absl::Seconds(1);
  static constexpr absl::Duration kPause = absl::Milliseconds(200);
  static constexpr absl::Duration kLongPause = absl::Seconds(1);

  // Gets the serialized reply of torchft's Quorum. Called once for each accepted call, from inside any of the functions
  // below.
  using Done = std::function<void(absl::StatusOr<std::string> reply)>;

  // The numbers of calls and reports rise over all rounds of this agent process. `last_number` must outlive this.
  Replicas(Settings settings, uint64_t& last_number) : settings_(std::move(settings)), last_number_(last_number) {}

  // Takes a heartbeat of the process in `slot` (none: the slot is not known). After INVALID_ARGUMENT or
  // RESOURCE_EXHAUSTED the heartbeat does not count.
  absl::Status Beat(std::optional<uint32_t> slot, const std::string& request, MonotonicTime now);
  // Takes a call of Quorum. Returns its number, for GiveUp.
  absl::StatusOr<uint64_t> Ask(std::optional<uint32_t> slot, const std::string& request, Done done, MonotonicTime now);
  void GiveUp(uint64_t call);

  void Ended(uint32_t slot);
  // Call it when the round is over. `why` is the error that the waiting calls get.
  void End(const std::string& why);

  // Returns the report that is due now, if any. Its field `caller` is still to be set.
  std::optional<v1::ReplicasReport> NextReport(MonotonicTime now);
  // Takes the answer to the report with this number. UNAVAILABLE, DEADLINE_EXCEEDED or CANCELLED mean that the
  // scheduler did not get the report. Returns a problem for people; "": there is none.
  std::string Replied(uint64_t report, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now);

  // True if NextReport may return a report without a new call.
  bool IsBusy() const { return !replicas_.empty() || is_changed_; }

 private:
  struct Replica {
    std::optional<uint32_t> slot;
    MonotonicTime heard;
    uint64_t call = 0;  // the waiting call; 0: none
    std::string member;
    bool shrink_only = false;
    bool has_commit_failures = false;
    Done done;
  };

  absl::StatusOr<Replica*> Hear(std::optional<uint32_t> slot, const std::string& id, MonotonicTime now);
  void AnswerAll(const absl::Status& status);
  absl::Duration Wait() const;
  void ForgetTheSilent(MonotonicTime now);

  const Settings settings_;
  uint64_t& last_number_;
  std::map<std::string, Replica> replicas_;
  std::set<uint64_t> open_;  // reports without an answer yet
  bool is_changed_ = false;  // true if a replica or a call came or went since the last report
  bool has_ended_ = false;
  MonotonicTime not_before_;
  MonotonicTime unchanged_not_before_;  // for a report without a change
};

}  // namespace muster::lighthouse
