#include "common/mindspore/handlers.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/store/store_limits.h"

namespace muster::mindspore {
namespace {

// Keys have a prefix, because other frameworks use the job's store, too.
std::string StoreKey(const std::string& name) { return absl::StrCat("mindspore/", name); }

// False for a key that the store can't have. The answer for such a key is "not there", without the key.
bool MayBeKept(const std::string& name) { return !name.empty() && CheckStoreKey(StoreKey(name)).ok(); }

// Every rank reads certain keys while other ranks still start. The answer to such a read waits up to this long for the
// key, because a client that gets "not there" asks again only after three seconds. Clients tolerate this delay.
constexpr std::chrono::milliseconds kMaxHold(2000);

bool IsAwaited(const std::string& name) {
  return absl::StartsWith(name, "MCCL_COLLECTIVE_RANK_") || absl::StrContains(name, "_group_info_");
}

// Parses a body. One that can't be parsed becomes an empty message: an empty node id or key matches nothing.
template <typename Message>
Message Parse(const std::string& body) {
  Message message;
  if (!message.ParseFromString(body)) message.Clear();
  return message;
}

Answer There(Dialect dialect, std::string body) { return Answer::Reply(ThereNumber(dialect), std::move(body)); }
Answer NotThere(Dialect dialect, std::string body) { return Answer::Reply(NotThereNumber(dialect), std::move(body)); }

std::string MetadataBody(const std::string& name, const std::string& value) {
  Metadata metadata;
  metadata.set_name(name);
  metadata.set_value(value);
  return metadata.SerializeAsString();
}

Answer Pending(Dialect dialect, const std::string& name) {
  Answer answer = NotThere(dialect, MetadataBody(name, ""));
  answer.kind = Answer::Kind::kPending;
  return answer;
}

// True for errors after which it is not known whether the key exists. Then no answer is better than "not there". When
// the request's time is over, the server sends a substitute, and the client asks again.
bool LeavesOpen(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsFailedPrecondition(status);
}

Answer Register(Cluster& cluster, const Peer& peer, const std::string& body) {
  const Admission admission = cluster.Register(peer, Parse<Registration>(body));
  RegistrationReply reply;
  reply.set_success(admission.is_admitted);
  if (admission.is_admitted) {
    reply.set_rank_id(admission.rank);
    reply.set_node_num(admission.nodes);
  } else {
    reply.set_error_reason(admission.reason);
  }
  return Answer::Reply(admission.is_admitted ? kSuccess : kInvalidNode, reply.SerializeAsString());
}

Answer Unregister(Cluster& cluster, const Peer& peer, const std::string& body) {
  uint32_t number = kSuccess;
  switch (cluster.Unregister(peer, Parse<Unregistration>(body).node_id())) {
    case LeaveResult::kDone:
      number = kSuccess;
      break;
    case LeaveResult::kNotInitialized:
      number = kNotInitialized;
      break;
    case LeaveResult::kUnknownNode:
      number = kInvalidNode;
      break;
  }
  return Answer::Reply(number, std::to_string(number));
}

Answer Beat(Cluster& cluster, const Peer& peer, const std::string& body) {
  const std::optional<Health> health = cluster.Heartbeat(peer, Parse<Heartbeat>(body).node_id());
  if (!health) return {};
  HeartbeatReply reply;
  reply.set_success(true);
  reply.set_topo_state(static_cast<uint32_t>(health->state));
  reply.set_nodes_num(health->nodes);
  reply.set_abnormal_nodes_num(health->abnormal);
  return Answer::Reply(kSuccess, reply.SerializeAsString());
}

Answer Write(Cluster& cluster, const Peer& peer, const std::string& body, const std::shared_ptr<CountedLog>& counted) {
  const auto metadata = Parse<Metadata>(body);
  if (metadata.name().empty() || !cluster.ServesMetadata(peer, MetadataUse::kWrite, metadata.name()) ||
      cluster.Published(peer, metadata.name()))
    return {};
  const std::string key = StoreKey(metadata.name());
  cluster.Store(peer).Set(key, metadata.value(), Lifetime::kRound, [key, counted](const absl::Status& status) {
    // The sender gets no answer, so log the failure. After DEADLINE_EXCEEDED the write is still sent, and after
    // FAILED_PRECONDITION its round is over: neither is logged.
    if (status.ok() || absl::IsDeadlineExceeded(status) || absl::IsFailedPrecondition(status)) return;
    counted->Note(
        Severity::kWarning, "MindSpore: metadata not stored",
        absl::StrCat("MindSpore's metadata ", Quoted(key), " was not stored: ", std::string(status.message())));
  });
  return {};
}

Answer Read(Cluster& cluster, const Peer& peer, Dialect dialect, const std::string& body, AnswerDone done) {
  const std::string name = Parse<Metadata>(body).name();
  if (!MayBeKept(name)) return NotThere(dialect, "");
  if (!cluster.ServesMetadata(peer, MetadataUse::kAsk, name)) return NotThere(dialect, MetadataBody(name, ""));
  if (const auto published = cluster.Published(peer, name)) return There(dialect, MetadataBody(name, *published));
  JobStore::ValueDone found = [done = std::move(done), dialect, name,
                               is_awaited = IsAwaited(name)](const absl::StatusOr<std::optional<std::string>>& value) {
    const bool did_not_come = is_awaited && absl::IsDeadlineExceeded(value.status());
    if (value.ok() && value->has_value()) {
      done(There(dialect, MetadataBody(name, **value)));
    } else if (did_not_come || !LeavesOpen(value.status())) {
      done(NotThere(dialect, MetadataBody(name, "")));
    }
  };
  if (IsAwaited(name)) {
    cluster.Store(peer).Wait(StoreKey(name), kMaxHold, std::move(found));
  } else {
    cluster.Store(peer).Get(StoreKey(name), std::move(found));
  }
  return Pending(dialect, name);
}

Answer Delete(Cluster& cluster, const Peer& peer, Dialect dialect, const std::string& body, AnswerDone done) {
  const std::string name = Parse<Metadata>(body).name();
  if (!MayBeKept(name)) return NotThere(dialect, "");
  if (!cluster.ServesMetadata(peer, MetadataUse::kAsk, "") || cluster.Published(peer, name)) {
    return NotThere(dialect, MetadataBody(name, ""));
  }
  JobStore& store = cluster.Store(peer);
  const std::string key = StoreKey(name);
  // The answer must say whether the key existed.
  store.Get(key, [done = std::move(done), dialect, name, key,
                  &store](const absl::StatusOr<std::optional<std::string>>& value) {
    if (LeavesOpen(value.status())) return;
    if (!value.ok() || !value->has_value()) return done(NotThere(dialect, MetadataBody(name, "")));
    store.Delete(key, [done, dialect, name](const absl::Status& status) {
      // A delete frees room. So it can lack room only because of earlier changes that still wait.
      if (LeavesOpen(status) || absl::IsResourceExhausted(status)) return;
      done(status.ok() ? There(dialect, MetadataBody(name, "")) : NotThere(dialect, MetadataBody(name, "")));
    });
  });
  return Pending(dialect, name);
}

Answer Add(Cluster& cluster, const Peer& peer, Dialect dialect, const std::string& body, AnswerDone done) {
  const auto metadata = Parse<Metadata>(body);
  const std::string& name = metadata.name();
  int64_t delta = 0;
  if (!MayBeKept(name)) return NotThere(dialect, "");
  if (!absl::SimpleAtoi(metadata.value(), &delta) || !cluster.ServesMetadata(peer, MetadataUse::kAsk, "")) {
    return NotThere(dialect, MetadataBody(name, ""));
  }
  cluster.Store(peer).Add(StoreKey(name), delta, Lifetime::kRound,
                          [done = std::move(done), dialect, name](const absl::StatusOr<int64_t>& sum) {
                            if (LeavesOpen(sum.status())) return;
                            done(sum.ok() ? There(dialect, MetadataBody(name, std::to_string(*sum)))
                                          : NotThere(dialect, MetadataBody(name, "")));
                          });
  return Pending(dialect, name);
}

Answer HostNames(Cluster& cluster, const Peer& peer, Dialect dialect, const std::string& role) {
  if (!cluster.ServesMetadata(peer, MetadataUse::kAsk, "")) return NotThere(dialect, HostNamesJson({}));
  const auto names = cluster.HostNames(peer, role);
  return names ? There(dialect, HostNamesJson(*names)) : NotThere(dialect, HostNamesJson({}));
}

}  // namespace

std::optional<uint32_t> RequestNumber(const std::string& name) {
  constexpr size_t kMaxDigits = 9;
  uint32_t number = 0;
  if (name.size() > kMaxDigits || !IsNumber(name) || !absl::SimpleAtoi(name, &number)) {
    return std::nullopt;
  }
  return number;
}

Answer HandleRequest(Cluster& cluster, const Peer& peer, Dialect dialect, uint32_t number, const std::string& body,
                     const std::shared_ptr<CountedLog>& counted, AnswerDone done) {
  switch (number) {
    case kRegister:
      return Register(cluster, peer, body);
    case kUnregister:
      return Unregister(cluster, peer, body);
    case kHeartbeat:
      return Beat(cluster, peer, body);
    case kWriteMetadata:
      return Write(cluster, peer, body, counted);
    case kReadMetadata:
      return Read(cluster, peer, dialect, body, std::move(done));
    case kDeleteMetadata:
      return Delete(cluster, peer, dialect, body, std::move(done));
    case kHostNames:
      return HostNames(cluster, peer, dialect, body);
    default:
      break;
  }
  if (number == AddNumber(dialect)) return Add(cluster, peer, dialect, body, std::move(done));
  return {};
}

std::optional<std::string> AskedKey(uint32_t number, const std::string& body) {
  if (number == kReadMetadata) return Parse<Metadata>(body).name();
  if (number == kHostNames) return absl::StrCat("host names of ", body);
  return std::nullopt;
}

std::string HostNamesJson(const std::vector<std::string>& names) {
  return nlohmann::json{{"hostnames", names}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace muster::mindspore
