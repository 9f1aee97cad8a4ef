// An agent's store without threads and gRPC, driven by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "worker_agent/store/store_core.h"

namespace muster::agent {

using Value = absl::StatusOr<std::optional<std::string>>;
using Code = absl::StatusCode;

class StoreCoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(1); }

  void Begin(uint32_t round) {
    v1::StoreCaller caller;
    caller.set_job_id("train");
    caller.set_run(1);
    caller.set_round(round);
    caller.set_node_id("n1");
    caller.set_incarnation(7);
    Take(core_.BeginRound(caller));
  }
  void Connect() { Take(core_.Connect(now_)); }
  void Disconnect() { Take(core_.Disconnect(now_)); }
  void Pass(absl::Duration time) {
    const MonotonicTime end = now_ + time;
    while (now_ < end) {
      now_ = now_ + StoreCore::kTick;
      Take(core_.Tick(now_));
    }
  }

  // These calls write their answers into one list, in the order in which the answers come.
  void Get(const std::string& key) { Take(core_.Get(key, Record(), now_)); }
  void Wait(const std::string& key, absl::Duration limit) { Take(core_.Wait(key, limit, Record(), now_)); }
  void Set(const std::string& key, const std::string& value) {
    v1::StoreSet set;
    set.set_key(key);
    set.set_value(value);
    Change(std::move(set));
  }
  void Delete(const std::string& key) {
    v1::StoreDelete request;
    request.set_key(key);
    Change(std::move(request));
  }
  void Add(const std::string& key, int64_t delta) {
    v1::StoreAdd add;
    add.set_key(key);
    add.set_delta(delta);
    Change(std::move(add));
  }
  void Change(StoreOperation change) {
    Take(core_.Change(
        std::move(change),
        [this](const absl::StatusOr<v1::StoreReply>& reply) { changed_.push_back(reply.status().code()); }, now_));
  }

  // Returns the oldest unanswered request, which must be of this kind.
  template <typename Request>
  Request Asked() {
    if (sends_.empty()) {
      ADD_FAILURE() << "nothing was asked";
      return {};
    }
    last_call_ = sends_.front().call;
    const StoreOperation operation = sends_.front().operation;
    sends_.erase(sends_.begin());
    if (const auto* request = std::get_if<Request>(&operation)) return *request;
    ADD_FAILURE() << "another kind of request: alternative " << operation.index();
    return {};
  }
  void Reply(uint64_t version, std::optional<std::string> value = std::nullopt, int64_t number = 0) {
    v1::StoreReply reply;
    reply.set_version(version);
    reply.set_number(number);
    if (value) reply.set_value(*value);
    Take(core_.Replied(last_call_, reply, now_));
  }
  void Fail(Code code) { Take(core_.Replied(last_call_, absl::Status(code, "so"), now_)); }

  std::string LastRead() {
    if (read_.empty()) return "nothing";
    const Value value = read_.back();
    read_.pop_back();
    return !value.ok() ? absl::StatusCodeToString(value.status().code()) : value->has_value() ? **value : "absent";
  }

  MonotonicTime now_ = MonotonicTime::FromNanoseconds(1'000'000'000);
  StoreCore core_;
  std::vector<StoreCore::Send> sends_;
  std::vector<Value> read_;
  std::vector<Code> changed_;
  std::vector<std::string> refused_;
  uint64_t last_call_ = 0;

 private:
  JobStore::ValueDone Record() {
    return [this](const Value& value) { read_.push_back(value); };
  }
  void Take(StoreCore::Effects effects) {
    for (StoreCore::Send& send : effects.sends) sends_.push_back(std::move(send));
    for (const auto& callback : effects.callbacks) callback();
    for (const auto& refused : effects.refused) refused_.push_back(refused.key);
  }
};

}  // namespace muster::agent
