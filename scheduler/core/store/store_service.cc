// Decides about calls to a run's store. See proto/muster/v1/store.proto for the calls.
#include "scheduler/core/store/store_service.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/store/store_limits.h"
#include "scheduler/core/store/caller.h"

namespace muster::scheduler {
namespace {

constexpr size_t kShownKeyBytes = 64;

std::string ShownKey(const std::string& key) { return Quoted(key, kShownKeyBytes); }

// The result of a request: a change and the reply, or the reply alone.
struct Decided {
  std::optional<v1::StoreChanged> changed;  // key, value, lifetime, sum
  v1::StoreReply reply;
};

v1::StoreChanged Holds(const std::string& key, const std::string& value, v1::ValueLifetime lifetime) {
  v1::StoreChanged changed;
  changed.set_key(key);
  changed.set_value(value);
  changed.set_lifetime(lifetime);
  return changed;
}

absl::StatusOr<Decided> Decide(const RunStore& /*store*/, const v1::StoreSet& request) {
  return Decided{Holds(request.key(), request.value(), request.lifetime()), {}};
}

absl::StatusOr<Decided> Decide(const RunStore& store, const v1::StoreDelete& request) {
  if (store.Find(request.key()) == nullptr) return Decided{};
  Decided decided;
  decided.changed.emplace().set_key(request.key());
  return decided;
}

absl::StatusOr<Decided> Decide(const RunStore& store, const v1::StoreAdd& request) {
  const v1::StoredValue* present = store.Find(request.key());
  int64_t number = 0;
  if (present != nullptr && !absl::SimpleAtoi(present->value(), &number)) {
    return absl::InvalidArgumentError(absl::StrCat("key ", ShownKey(request.key()),
                                                   " holds no decimal number of 64 bits: nothing can be added to it"));
  }
  int64_t sum = 0;
  if (__builtin_add_overflow(number, request.delta(), &sum)) {
    return absl::InvalidArgumentError(absl::StrCat("key ", ShownKey(request.key()), " holds ", number, ": adding ",
                                                   request.delta(), " goes beyond 64 bits"));
  }
  Decided decided{Holds(request.key(), absl::StrCat(sum), request.lifetime()), {}};
  decided.changed->set_sum(sum);
  decided.reply.set_number(sum);
  return decided;
}

absl::StatusOr<Decided> Decide(const RunStore& store, const v1::StoreCompareAndSet& request) {
  const v1::StoredValue* present = store.Find(request.key());
  const bool is_as_expected =
      request.has_expected() ? present != nullptr && present->value() == request.expected() : present == nullptr;
  Decided decided;
  if (is_as_expected) {
    decided.changed = Holds(request.key(), request.desired(), request.lifetime());
    decided.reply.set_value(request.desired());
  } else if (present != nullptr) {
    decided.reply.set_value(present->value());
  }
  return decided;
}

// Again returns the reply to a repeated change that was made already. The caller adds the version of the first answer.
v1::StoreReply Again(const Node& /*node*/, const v1::StoreSet& /*request*/) { return {}; }
v1::StoreReply Again(const Node& /*node*/, const v1::StoreDelete& /*request*/) { return {}; }
v1::StoreReply Again(const Node& node, const v1::StoreAdd& /*request*/) {
  v1::StoreReply reply;
  reply.set_number(node.record().last_sum);
  return reply;
}
v1::StoreReply Again(const Node& /*node*/, const v1::StoreCompareAndSet& request) {
  v1::StoreReply reply;
  reply.set_value(request.desired());
  return reply;
}

// Returns a reply with the key's present value, and changes nothing. If a request changed nothing and comes again, it
// gets this reply, too, even if it could change the value that the key has by now.
v1::StoreReply WithoutChange(const RunStore& store, const std::string& key) {
  v1::StoreReply reply;
  if (const v1::StoredValue* present = store.Find(key)) reply.set_value(present->value());
  return reply;
}

// Returns the highest known number of the changes that the node's present start has asked for.
uint64_t LatestNumber(const Node& node) {
  const bool has_seen = node.last_request.incarnation == node.record().incarnation;
  return std::max(node.record().last_change, has_seen ? node.last_request.number : 0);
}

Answer MakeAnswer(QueryId query, uint64_t version, v1::StoreReply reply) {
  reply.set_version(version);
  return Answer{query, absl::OkStatus(), std::move(reply)};
}

Answer MakeAnswer(QueryId query, const RunStore& store, v1::StoreReply reply) {
  return MakeAnswer(query, store.version(), std::move(reply));
}

}  // namespace

void StoreService::On(const StoreRequested& event) {
  std::visit(
      [&](const auto& request) {
        if constexpr (std::is_same_v<std::decay_t<decltype(request)>, v1::ReplicasReport>) {
          return;  // Lighthouses handles it
        } else {
          const v1::StoreCaller& caller = request.caller();
          Run* run = context_.state.FindRun(caller.job_id(), caller.run());
          if (absl::Status status = CheckCaller(run, caller, event.identity); !status.ok()) {
            context_.effects.push_back(Answer{event.query, std::move(status), v1::StoreReply()});
            return;
          }
          Serve(*run, run->nodes.at(caller.node_id()), event.query, request);
        }
      },
      event.operation);
}

void StoreService::Serve(Run& run, Node& /*node*/, QueryId query, const v1::StoreGet& request) {
  context_.effects.push_back(MakeAnswer(query, run.record().store, WithoutChange(run.record().store, request.key())));
}

void StoreService::Serve(Run& run, Node& /*node*/, QueryId query, const v1::StoreWait& request) {
  if (run.record().store.Find(request.key()) != nullptr) {
    context_.effects.push_back(MakeAnswer(query, run.record().store, WithoutChange(run.record().store, request.key())));
    return;
  }
  if (run.store_waits.size() >= kMaxStoreWaits) {
    context_.effects.push_back(Answer{query,
                                      absl::ResourceExhaustedError(absl::StrCat(
                                          kMaxStoreWaits, " calls wait for keys of this job already: try again later")),
                                      v1::StoreReply()});
    return;
  }
  const uint32_t limit = std::min(request.limit_ms(), kMaxStoreWaitMs);
  run.store_waits.Add(request.key(), context_.now.monotonic + absl::Milliseconds(limit), query);
  context_.Schedule(run);
}

void StoreService::Serve(Run& run, Node& /*node*/, QueryId query, const v1::StoreList& request) {
  const auto& values = run.record().store.values();
  auto value = request.after().empty() ? values.lower_bound(request.key()) : values.upper_bound(request.after());
  if (value != values.end() && value->first < request.key()) value = values.lower_bound(request.key());
  const size_t most = request.limit() == 0 ? kMaxStoreListKeys : std::min<size_t>(request.limit(), kMaxStoreListKeys);
  v1::StoreReply reply;
  size_t bytes = 0;
  for (; value != values.end() && absl::StartsWith(value->first, request.key()); ++value) {
    bytes += BytesOf(*value->second);
    // Always send the first entry, even if it is larger than the limit: otherwise the caller could never get past it.
    const auto listed = static_cast<size_t>(reply.entries_size());
    if (listed >= most || (listed > 0 && bytes > kMaxStoreListBytes)) {
      reply.set_has_more(true);
      break;
    }
    v1::StoreEntry& entry = *reply.add_entries();
    entry.set_key(value->first);
    entry.set_value(value->second->value());
  }
  context_.effects.push_back(MakeAnswer(query, run.record().store, std::move(reply)));
}

template <typename Request>
void StoreService::Serve(Run& run, Node& node, QueryId query, const Request& request) {
  const uint64_t number = request.number();
  if (number != 0) {
    const uint64_t latest = LatestNumber(node);
    if (number < latest) {
      context_.effects.push_back(
          Answer{query,
                 absl::AbortedError(absl::StrCat("change ", number, " of node ", node.record().id,
                                                 " comes after its change ", latest)),
                 v1::StoreReply()});
      return;
    }
    if (number == node.record().last_change) {
      // Answer with the version of the first answer. With the present version, the caller would believe that its own
      // value is the newest, even if the key has changed since.
      context_.effects.push_back(MakeAnswer(query, node.record().last_change_version, Again(node, request)));
      return;
    }
    if (number == latest) {
      Answer answer = MakeAnswer(query, run.record().store, WithoutChange(run.record().store, request.key()));
      answer.status = node.last_request.status;
      if constexpr (std::is_same_v<Request, v1::StoreDelete>) {
        // The key did not exist at the time of the request, but another node may have set it since.
        std::get<v1::StoreReply>(answer.reply).set_version(node.last_request.version);
      }
      context_.effects.push_back(std::move(answer));
      return;
    }
  }
  absl::StatusOr<Decided> decided = Decide(run.record().store, request);
  absl::Status status = decided.status();
  if (status.ok() && decided->changed && decided->changed->has_value()) {
    Room wanted;
    Count(run, node.record().id, decided->changed->key(), decided->changed->value(), wanted);
    status = CheckRoom(run, wanted);
  }
  // Note even a refused request, so that it gets the same answer if it comes again.
  if (number != 0) node.last_request = {node.record().incarnation, number, run.record().store.version(), status};
  if (!status.ok()) {
    context_.effects.push_back(Answer{query, std::move(status), v1::StoreReply()});
    return;
  }
  if (decided->changed) {
    decided->changed->set_round(request.caller().round());
    decided->changed->set_number(number);
    Change(run, node, *std::move(decided->changed));
  }
  context_.effects.push_back(MakeAnswer(query, run.record().store, std::move(decided->reply)));
}

// If a crash of the scheduler interrupted a batch, its first changes are durable. When the batch comes again, this
// makes only the remaining changes.
void StoreService::Serve(Run& run, Node& node, QueryId query, const v1::StoreBatch& request) {
  const uint64_t last = request.number() + static_cast<uint64_t>(request.edits_size()) - 1;
  const uint64_t latest = LatestNumber(node);
  if (last < latest) {
    context_.effects.push_back(
        Answer{query,
               absl::AbortedError(absl::StrCat("changes up to ", last, " of node ", node.record().id,
                                               " come after its change ", latest)),
               v1::StoreReply()});
    return;
  }
  if (last == node.record().last_change) {
    context_.effects.push_back(MakeAnswer(query, node.record().last_change_version, {}));
    return;
  }
  if (last == latest) {
    Answer answer = MakeAnswer(query, node.last_request.version, {});
    answer.status = node.last_request.status;
    context_.effects.push_back(std::move(answer));
    return;
  }
  absl::Status status;
  Room wanted;
  std::vector<v1::StoreChanged> changes;
  for (int i = 0; i < request.edits_size() && status.ok(); ++i) {
    const v1::StoreEdit& edit = request.edits(i);
    const uint64_t number = request.number() + static_cast<uint64_t>(i);
    if (number <= node.record().last_change) continue;
    const bool is_there = run.record().store.Find(edit.key()) != nullptr;
    if (edit.only_new() && is_there) {
      status = absl::AlreadyExistsError(absl::StrCat("key ", ShownKey(edit.key()), " exists already"));
    }
    if (!edit.has_value() && !is_there) continue;
    v1::StoreChanged& changed = changes.emplace_back();
    changed.set_key(edit.key());
    if (edit.has_value()) {
      changed.set_value(edit.value());
      changed.set_lifetime(edit.lifetime());
      Count(run, node.record().id, edit.key(), edit.value(), wanted);
    }
    changed.set_round(request.caller().round());
    changed.set_number(number);
  }
  if (status.ok()) status = CheckRoom(run, wanted);
  if (!status.ok()) {
    context_.effects.push_back(Answer{query, std::move(status), v1::StoreReply()});
    return;
  }
  for (v1::StoreChanged& changed : changes) Change(run, node, std::move(changed));
  node.last_request = {node.record().incarnation, last, run.record().store.version(), absl::OkStatus()};
  context_.effects.push_back(MakeAnswer(query, run.record().store, {}));
}

void StoreService::Change(Run& run, const Node& node, v1::StoreChanged changed) {
  SetHead(changed, run, node);
  changed.set_incarnation(node.record().incarnation);
  const std::string key = changed.key();
  const bool is_there = changed.has_value();
  v1::Record record = context_.NewRecord();
  *record.mutable_store_changed() = std::move(changed);
  context_.Write(std::move(record));
  if (!is_there) return;
  for (const QueryId waiting : run.store_waits.TakeWaitingFor(key)) {
    context_.effects.push_back(MakeAnswer(waiting, run.record().store, WithoutChange(run.record().store, key)));
  }
}

void StoreService::Count(const Run& run, const std::string& writer, const std::string& key, const std::string& value,
                         Room& room) {
  const v1::StoredValue* present = run.record().store.Find(key);
  if (present == nullptr) ++room.keys;
  room.freed += present == nullptr ? 0 : BytesOf(*present);
  room.taken += StoredBytes(key, value, writer);
}

absl::Status StoreService::CheckRoom(const Run& run, const Room& wanted) const {
  const auto& [freed, taken, keys] = wanted;
  if (keys > 0 && run.record().store.size() + keys > kMaxStoreKeys) {
    return absl::ResourceExhaustedError(absl::StrCat("the store of job ", run.record().job_id, " is full: it holds ",
                                                     kMaxStoreKeys, " keys, the most there can be"));
  }
  if (run.record().store.bytes() - freed + taken > kMaxStoreBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the store of job ", run.record().job_id, " is full: it holds ", run.record().store.bytes(),
                     " bytes in ", run.record().store.size(), " keys (", kStoredOverheadBytes,
                     " extra bytes count for each key), and the most is ", kMaxStoreBytes, " bytes"));
  }
  if (context_.state.record().store_bytes - freed + taken > kMaxStoreBytesInAll) {
    return absl::ResourceExhaustedError(absl::StrCat("the stores of all jobs of this scheduler together hold ",
                                                     context_.state.record().store_bytes, " bytes, and the most is ",
                                                     kMaxStoreBytesInAll, " bytes"));
  }
  return absl::OkStatus();
}

void StoreService::EndWaits(Run& run) {
  for (const QueryId query : run.store_waits.TakeAll()) {
    context_.effects.push_back(
        Answer{query,
               absl::FailedPreconditionError(absl::StrCat("round ", run.record().round, " of run ", run.record().number,
                                                          " of job ", run.record().job_id, " is over")),
               v1::StoreReply()});
  }
}

void StoreService::ExpireWaits(Run& run) {
  for (const QueryId query : run.store_waits.TakeDue(context_.now.monotonic)) {
    context_.effects.push_back(
        Answer{query, absl::DeadlineExceededError("the key was not set in time"), v1::StoreReply()});
  }
}

}  // namespace muster::scheduler
