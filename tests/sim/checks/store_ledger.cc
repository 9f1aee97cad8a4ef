#include "tests/sim/checks/store_ledger.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::sim {

std::string StoreLedger::Take(const v1::StoreChanged& record, uint32_t round) {
  if (record.round() != round) {
    return absl::StrCat("a change of round ", record.round(), " took effect in round ", round);
  }
  if (record.number() != 0) {
    uint64_t& last = last_number_[record.incarnation()];
    if (record.number() <= last) {
      return absl::StrCat("change ", record.number(), " of node ", record.node_id(), " took effect after change ",
                          last);
    }
    last = record.number();
  }
  changes_[record.key()].push_back({++version_, record});
  return "";
}

std::optional<std::string> StoreLedger::ValueAt(const std::string& key, uint32_t round, uint64_t version) const {
  const auto found = changes_.find(key);
  if (found == changes_.end()) return std::nullopt;
  std::optional<std::string> value;
  for (const Change& change : found->second) {
    if (change.version > version) break;
    const bool is_kept = change.record.lifetime() == v1::LIFETIME_RUN || change.record.round() == round;
    value = change.record.has_value() && is_kept ? std::optional<std::string>(change.record.value()) : std::nullopt;
  }
  return value;
}

const StoreLedger::Change* StoreLedger::Find(uint64_t incarnation, uint64_t number) const {
  for (const auto& [key, changes] : changes_) {
    for (const Change& change : changes) {
      if (change.record.incarnation() == incarnation && change.record.number() == number) return &change;
    }
  }
  return nullptr;
}

std::string StoreLedger::Check(const v1::StoreList& request, const v1::StoreReply& reply) const {
  std::map<std::string, std::string> listed;
  for (const v1::StoreEntry& entry : reply.entries()) listed[entry.key()] = entry.value();
  for (const auto& [key, changes] : changes_) {
    if (!absl::StartsWith(key, request.key()) || (!request.after().empty() && key <= request.after())) continue;
    const std::optional<std::string> held = ValueAt(key, request.caller().round(), reply.version());
    const auto found = listed.find(key);
    const bool is_behind = reply.has_more() && !listed.empty() && key > listed.rbegin()->first;
    if (found == listed.end() && held && !is_behind) return absl::StrCat("a list left out ", key);
    if (found != listed.end() && held != found->second) return absl::StrCat("a list told what ", key, " didn't hold");
  }
  return "";
}

std::string StoreLedger::Check(const v1::StoreBatch& request, const v1::StoreReply& reply) const {
  for (int i = 0; i < request.edits_size(); ++i) {
    const v1::StoreEdit& edit = request.edits(i);
    const Change* made = Find(request.caller().incarnation(), request.number() + static_cast<uint64_t>(i));
    const bool needs_none = !edit.has_value() && !ValueAt(edit.key(), request.caller().round(), reply.version());
    const bool is_it = made != nullptr && made->record.key() == edit.key() &&
                       made->record.has_value() == edit.has_value() && made->record.value() == edit.value();
    if (!is_it && !needs_none) return "a batch was acknowledged of which a part isn't durable";
  }
  return "";
}

template <typename Request>
std::string StoreLedger::Check(const Request& request, const v1::StoreReply& reply) const {
  const v1::StoreCaller& caller = request.caller();
  const std::optional<std::string> held = ValueAt(request.key(), caller.round(), reply.version());
  const std::optional<std::string> answered =
      reply.has_value() ? std::optional<std::string>(reply.value()) : std::nullopt;
  if constexpr (std::is_same_v<Request, v1::StoreGet> || std::is_same_v<Request, v1::StoreWait>) {
    return answered == held ? "" : absl::StrCat("a read of ", request.key(), " was answered with what it didn't hold");
  } else {
    const Change* made = Find(caller.incarnation(), request.number());
    // Otherwise the caller would take its own value for newer than the value at that version.
    if (made != nullptr && made->version != reply.version()) {
      return absl::StrCat("a change was answered with version ", reply.version(), " and was version ", made->version);
    }
    const v1::StoreChanged* change = made == nullptr ? nullptr : &made->record;
    if constexpr (std::is_same_v<Request, v1::StoreSet>) {
      return change != nullptr && change->value() == request.value() ? "" : "a Set was acknowledged that isn't durable";
    } else if constexpr (std::is_same_v<Request, v1::StoreAdd>) {
      const bool is_there = change != nullptr && change->value() == absl::StrCat(reply.number());
      return is_there ? "" : "an Add was acknowledged that isn't durable, or with another sum";
    } else if constexpr (std::is_same_v<Request, v1::StoreDelete>) {
      return change != nullptr || !held ? "" : "a Delete was acknowledged that isn't durable";
    } else {
      if (change != nullptr)
        return answered == change->value() ? "" : "a swap that was made was answered as if it were not";
      return answered == held ? "" : "a swap that was not made was answered with what the key didn't hold";
    }
  }
}

std::string StoreLedger::CheckAnswer(const scheduler::StoreOperation& operation, const v1::StoreReply& reply) const {
  if (reply.version() > version_) return "an answer of the store spoke of what isn't durable";
  return std::visit([&](const auto& request) { return Check(request, reply); }, operation);
}

}  // namespace muster::sim
