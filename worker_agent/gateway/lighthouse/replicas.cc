#include "worker_agent/gateway/lighthouse/replicas.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "worker_agent/gateway/lighthouse/messages.pb.h"

namespace muster::lighthouse {
namespace {

uint32_t Milliseconds(absl::Duration span) {
  return static_cast<uint32_t>(std::clamp<int64_t>(absl::ToInt64Milliseconds(span), 0, UINT32_MAX));
}

absl::Status CheckReplicaId(const std::string& id) {
  const bool is_line = std::none_of(id.begin(), id.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!id.empty() && id.size() <= kMaxReplicaIdBytes && is_line) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a replica_id has 1 to ", kMaxReplicaIdBytes, " bytes and no control characters"));
}

std::string ReplyOf(const v1::ReplicasQuorum& formed) {
  QuorumReply reply;
  Quorum& quorum = *reply.mutable_quorum();
  quorum.set_quorum_id(formed.quorum_id());
  *quorum.mutable_participants() = formed.members();
  quorum.mutable_created()->set_seconds(formed.created_unix_ms() / 1000);
  quorum.mutable_created()->set_nanos(static_cast<int32_t>(formed.created_unix_ms() % 1000) * 1'000'000);
  return reply.SerializeAsString();
}

bool WasNotHeard(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

}  // namespace

absl::StatusOr<Replicas::Replica*> Replicas::Hear(std::optional<uint32_t> slot, const std::string& id,
                                                  MonotonicTime now) {
  if (has_ended_) return absl::UnavailableError("the round is over");
  if (absl::Status status = CheckReplicaId(id); !status.ok()) return status;
  const auto found = replicas_.find(id);
  if (found == replicas_.end() && replicas_.size() >= static_cast<size_t>(kMaxReplicasOfAgent)) {
    return absl::ResourceExhaustedError(absl::StrCat("this node has ", kMaxReplicasOfAgent, " replicas already"));
  }
  is_changed_ |= found == replicas_.end();
  Replica& replica = replicas_[id];
  replica.slot = slot;
  replica.heard = now;
  return &replica;
}

absl::Status Replicas::Beat(std::optional<uint32_t> slot, const std::string& request, MonotonicTime now) {
  HeartbeatRequest message;
  if (!message.ParseFromString(request)) return absl::InvalidArgumentError("this is no HeartbeatRequest");
  return Hear(slot, message.replica_id(), now).status();
}

absl::StatusOr<uint64_t> Replicas::Ask(std::optional<uint32_t> slot, const std::string& request, Done done,
                                       MonotonicTime now) {
  QuorumRequest message;
  QuorumMember member;
  if (!message.ParseFromString(request) || !member.ParseFromString(message.requester())) {
    return absl::InvalidArgumentError("this is no LighthouseQuorumRequest");
  }
  if (message.requester().size() > kMaxReplicaMemberBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a replica's description of itself has ", message.requester().size(),
                                                   " bytes; the limit is ", kMaxReplicaMemberBytes));
  }
  const absl::StatusOr<Replica*> heard = Hear(slot, member.replica_id(), now);
  if (!heard.ok()) return heard.status();
  Replica& replica = **heard;
  if (replica.done) std::exchange(replica.done, nullptr)(absl::AbortedError("the replica has asked again"));
  replica.call = ++last_number_;
  replica.member = std::move(*message.mutable_requester());
  replica.shrink_only = member.shrink_only();
  replica.has_commit_failures = member.commit_failures() > 0;
  replica.done = std::move(done);
  is_changed_ = true;
  return replica.call;
}

void Replicas::GiveUp(uint64_t call) {
  for (auto& [id, replica] : replicas_) {
    if (replica.call != call) continue;
    replica.call = 0;
    is_changed_ = true;
    if (replica.done) std::exchange(replica.done, nullptr)(absl::CancelledError("the caller has disconnected"));
  }
}

void Replicas::Ended(uint32_t slot) {
  std::vector<Done> cancelled;
  std::erase_if(replicas_, [&](auto& one) {
    if (one.second.slot != slot) return false;
    if (one.second.done) cancelled.push_back(std::move(one.second.done));
    return is_changed_ = true;
  });
  for (const Done& done : cancelled) done(absl::CancelledError("its process has ended"));
}

void Replicas::AnswerAll(const absl::Status& status) {
  for (auto& [id, replica] : replicas_) {
    if (!replica.done) continue;
    replica.call = 0;
    is_changed_ = true;
    std::exchange(replica.done, nullptr)(status);
  }
}

void Replicas::End(const std::string& why) {
  has_ended_ = true;
  AnswerAll(absl::UnavailableError(why.empty() ? "the round is over" : why));
  is_changed_ = !replicas_.empty();  // so that the other agents learn at once that these are gone
  replicas_.clear();
}

absl::Duration Replicas::Wait() const { return std::min(kWait, settings_.heartbeat_timeout / 4); }

void Replicas::ForgetTheSilent(MonotonicTime now) {
  std::erase_if(replicas_, [&](const auto& one) {
    return one.second.call == 0 && now - one.second.heard >= 2 * settings_.heartbeat_timeout;
  });
}

std::optional<v1::ReplicasReport> Replicas::NextReport(MonotonicTime now) {
  ForgetTheSilent(now);
  if (now < not_before_ || open_.size() >= kMaxOpen) return std::nullopt;
  if (!is_changed_ && (replicas_.empty() || !open_.empty() || now < unchanged_not_before_)) return std::nullopt;
  is_changed_ = false;
  unchanged_not_before_ = now + Wait() / 2;
  v1::ReplicasReport report;
  report.set_lighthouse(settings_.name);
  report.set_number(++last_number_);
  report.set_wait_ms(Milliseconds(Wait()));
  report.mutable_rules()->set_min_replicas(settings_.min_replicas);
  report.mutable_rules()->set_join_timeout_ms(Milliseconds(settings_.join_timeout));
  report.mutable_rules()->set_heartbeat_timeout_ms(Milliseconds(settings_.heartbeat_timeout));
  for (const auto& [id, replica] : replicas_) {
    v1::ReplicaReport& one = *report.add_replicas();
    one.set_replica_id(id);
    one.set_silent_ms(Milliseconds(now - replica.heard));
    if (replica.call == 0) continue;
    one.set_call(replica.call);
    one.set_member(replica.member);
    one.set_shrink_only(replica.shrink_only);
    one.set_has_commit_failures(replica.has_commit_failures);
  }
  open_.insert(report.number());
  return report;
}

std::string Replicas::Replied(uint64_t report, absl::StatusOr<v1::StoreReply> reply, MonotonicTime now) {
  open_.erase(report);
  if (!reply.ok()) {
    // If the scheduler did not get the report, reports again, even if no replica is left.
    is_changed_ |= WasNotHeard(reply.status()) ? !has_ended_ : !replicas_.empty();
    const bool goes_on = WasNotHeard(reply.status()) || absl::IsFailedPrecondition(reply.status());
    not_before_ = now + (WasNotHeard(reply.status()) ? kPause : kLongPause);
    if (goes_on) return "";
    AnswerAll(reply.status());
    return std::string(reply.status().message());
  }
  for (const v1::ReplicasQuorum& quorum : reply->quorums()) {
    for (const uint64_t call : quorum.calls()) {
      const auto asker = std::find_if(replicas_.begin(), replicas_.end(),
                                      [&](const auto& one) { return one.second.call == call && one.second.done; });
      if (asker == replicas_.end()) continue;
      asker->second.call = 0;
      is_changed_ = true;  // the replica no longer asks
      std::exchange(asker->second.done, nullptr)(ReplyOf(quorum));
    }
  }
  return "";
}

}  // namespace muster::lighthouse
