#include "scheduler/rpc/loop_job_store.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"

namespace muster::scheduler {
namespace {

using Reply = absl::StatusOr<v1::StoreReply>;

v1::ValueLifetime ToProto(Lifetime lifetime) {
  return lifetime == Lifetime::kRun ? v1::LIFETIME_RUN : v1::LIFETIME_ROUND;
}

StoreCalls::Done ToValue(JobStore::ValueDone done) {
  return [done = std::move(done)](Reply reply) {
    if (!reply.ok()) return done(reply.status());
    done(reply->has_value() ? std::optional<std::string>(reply->value()) : std::nullopt);
  };
}

StoreCalls::Done ToStatus(JobStore::Done done) {
  return [done = std::move(done)](const Reply& reply) { done(reply.status()); };
}

}  // namespace

LoopJobStore::LoopJobStore(StoreCalls& calls, v1::StoreCaller caller, std::string identity)
    : calls_(calls), caller_(std::move(caller)), identity_(std::move(identity)) {}

template <typename Request>
Request LoopJobStore::New(const std::string& key) const {
  Request request;
  *request.mutable_caller() = caller_;
  request.set_key(key);
  return request;
}

void LoopJobStore::Get(const std::string& key, ValueDone done) {
  calls_.Call(New<v1::StoreGet>(key), identity_, ToValue(std::move(done)));
}

void LoopJobStore::Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) {
  auto request = New<v1::StoreWait>(key);
  request.set_limit_ms(static_cast<uint32_t>(std::clamp<int64_t>(limit.count(), 0, kLongestStoreWaitMs)));
  calls_.Call(std::move(request), identity_, ToValue(std::move(done)));
}

void LoopJobStore::Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) {
  auto request = New<v1::StoreSet>(key);
  request.set_value(value);
  request.set_lifetime(ToProto(lifetime));
  calls_.Call(std::move(request), identity_, ToStatus(std::move(done)));
}

void LoopJobStore::Delete(const std::string& key, Done done) {
  calls_.Call(New<v1::StoreDelete>(key), identity_, ToStatus(std::move(done)));
}

void LoopJobStore::Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) {
  auto request = New<v1::StoreAdd>(key);
  request.set_delta(delta);
  request.set_lifetime(ToProto(lifetime));
  calls_.Call(std::move(request), identity_, [done = std::move(done)](const Reply& reply) {
    if (!reply.ok()) return done(reply.status());
    done(reply->number());
  });
}

void LoopJobStore::CompareAndSet(const std::string& key, const std::optional<std::string>& expected,
                                 const std::string& desired, Lifetime lifetime, ValueDone done) {
  auto request = New<v1::StoreSwap>(key);
  if (expected) request.set_expected(*expected);
  request.set_desired(desired);
  request.set_lifetime(ToProto(lifetime));
  calls_.Call(std::move(request), identity_, ToValue(std::move(done)));
}

}  // namespace muster::scheduler
