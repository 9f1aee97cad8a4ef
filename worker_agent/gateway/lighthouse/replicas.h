// The torchft replica groups in this agent's processes: the time of each one's last call, those that wait for a quorum,
// and the reports on them to the scheduler (proto/muster/v1/store.proto, ReplicasReport). Pure; one caller at a time.
//
//   a report goes out        at once when a call came or was given up, or a process ended, with at most kMaxOpen open
//                            reports; also whenever none is open and there is a replica, but not before half the wait
//                            of the last report
//   a report got no answer   again after kPause, with all that is known by then; calls go on waiting
//   (no scheduler)
//   a report was refused     each waiting call gets the reason; again after kLongPause
//   a replica is forgotten   when its process ends, or when it asks nothing and is silent for twice the heartbeat
//                            time-out; the scheduler declares it dead long before
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
  // A report waits so long for its answer, and at most a quarter of the heartbeat time-out: the next report has the
  // heartbeats since then.
  static constexpr absl::Duration kWait = absl::Seconds(1);
  static constexpr absl::Duration kPause = absl::Milliseconds(200);
  static constexpr absl::Duration kLongPause = absl::Seconds(1);

  // The reply of torchft's Quorum, serialized. Called once for each accepted call, from inside any of the functions
  // below.
  using Done = std::function<void(absl::StatusOr<std::string> reply)>;

  // The numbers of calls and reports rise over all rounds of this start of the agent. `last_number` must outlive this.
  Replicas(Settings settings, uint64_t& last_number) : settings_(std::move(settings)), last_number_(last_number) {}

  // A heartbeat of the process in `slot`; none: unknown. INVALID_ARGUMENT, RESOURCE_EXHAUSTED: the call is not
  // accepted.
  absl::Status Beat(std::optional<uint32_t> slot, const std::string& request, MonotonicTime now);
  // A call of Quorum. Returns its number, for GiveUp.
  absl::StatusOr<uint64_t> Ask(std::optional<uint32_t> slot, const std::string& request, Done done, MonotonicTime now);
  void GiveUp(uint64_t call);

  void Ended(uint32_t slot);
  // The round is over. `why`: the error of the waiting calls.
  void End(const std::string& why);

  // Returns the report to be sent now, if any, without the caller's fields.
  std::optional<v1::ReplicasReport> NextReport(MonotonicTime now);
  // Takes the answer to the report of that number. UNAVAILABLE, DEADLINE_EXCEEDED and CANCELLED: the scheduler did not
  // get it. Returns a text for people, "" for none.
  std::string Replied(uint64_t report, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now);

  // True if time alone can change something.
  bool IsBusy() const { return !replicas_.empty() || is_changed_; }

 private:
  struct Replica {
    std::optional<uint32_t> slot;
    MonotonicTime heard;
    uint64_t call = 0;  // the one that waits; 0: none
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
  bool is_changed_ = false;  // since the last report
  bool has_ended_ = false;
  MonotonicTime not_before_;
  MonotonicTime unchanged_not_before_;  // for a report with the same contents
};

}  // namespace muster::lighthouse
