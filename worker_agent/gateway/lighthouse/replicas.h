// The replica groups of torchft that live in this agent's processes: who was heard when, who waits for a quorum, and
// what the scheduler is told of that (proto/muster/v1/store.proto, ReplicasReport). Pure; one caller at a time.
//
//   a report goes out        at once when a call came or was given up, or a process ended, though at most kMaxOpen
//                            wait for their answers; and another one whenever none is open, as long as a replica is
//                            there, though not before half the time that the last one was to wait
//   a report that was not    again after kPause, with whatever is known by then; calls go on waiting
//   heard (no scheduler)
//   a report that was        each call that waits is told why; again after kLongPause
//   refused
//   a replica is forgotten   when its process ends, or it asks nothing and is silent for twice the heartbeat time-out:
//                            that it is not alive is the scheduler's to say, long before
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
  // Of a report for its answer, and a quarter of the heartbeat time-out at most: the next one tells who was heard
  // since.
  static constexpr absl::Duration kWait = absl::Seconds(1);
  static constexpr absl::Duration kPause = absl::Milliseconds(200);
  static constexpr absl::Duration kLongPause = absl::Seconds(1);

  // The reply of torchft's Quorum, serialized. Called once for each call that was taken, from inside any of the
  // functions below.
  using Done = std::function<void(absl::StatusOr<std::string> reply)>;

  // Numbers of calls and reports rise over all rounds of this start of the agent: `last_number` outlives this.
  Replicas(Settings settings, uint64_t& last_number) : settings_(std::move(settings)), last_number_(last_number) {}

  // Of the process in `slot`; none: not known which. INVALID_ARGUMENT, RESOURCE_EXHAUSTED: it is not taken.
  absl::Status Beat(std::optional<uint32_t> slot, const std::string& request, MonotonicTime now);
  // A call of Quorum; the number is for GiveUp.
  absl::StatusOr<uint64_t> Ask(std::optional<uint32_t> slot, const std::string& request, Done done, MonotonicTime now);
  void GiveUp(uint64_t call);

  void Ended(uint32_t slot);
  // The round is over. `why`: what calls are told.
  void End(const std::string& why);

  // What is to be sent now, if anything; the caller is not filled in.
  std::optional<v1::ReplicasReport> NextReport(MonotonicTime now);
  // The answer to the report of that number. UNAVAILABLE, DEADLINE_EXCEEDED and CANCELLED: it was not heard. What is
  // returned is for people, "" for none.
  std::string Replied(uint64_t report, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now);

  // Whether time alone brings something.
  bool IsBusy() const { return !replicas_.empty() || is_changed_; }

 private:
  struct Replica {
    std::optional<uint32_t> slot;
    MonotonicTime heard;
    uint64_t call = 0;  // that waits; 0: none
    std::string member;
    bool shrink_only = false;
    bool has_commit_failures = false;
    Done done;
  };

  absl::StatusOr<Replica*> Hear(std::optional<uint32_t> slot, const std::string& id, MonotonicTime now);
  void TellAll(const absl::Status& status);
  absl::Duration Wait() const;
  void ForgetTheSilent(MonotonicTime now);

  const Settings settings_;
  uint64_t& last_number_;
  std::map<std::string, Replica> replicas_;
  std::set<uint64_t> open_;  // reports that wait for their answer
  bool is_changed_ = false;  // since the last report
  bool has_ended_ = false;
  MonotonicTime not_before_;
  MonotonicTime unchanged_not_before_;  // a report that says the same again
};

}  // namespace muster::lighthouse
