#include "worker_agent/store/agent_store.h"

#include <grpcpp/channel.h>
#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/sys/threads.h"

namespace muster::agent {
namespace {

constexpr size_t kShownKeyBytes = 64;
constexpr absl::Duration kReportSlack =
    absl::Seconds(2);  // more than the report's own wait, so that the answer can arrive
constexpr size_t kMaxChange = kMaxStoreKeyBytes + 2 * kMaxStoreValueBytes + 1024;

v1::ValueLifetime ToProto(Lifetime lifetime) {
  return lifetime == Lifetime::kRun ? v1::LIFETIME_RUN : v1::LIFETIME_ROUND;
}

}  // namespace

AgentStore::AgentStore(const Clock& clock)
    : clock_(clock),
      counted_(clock),
      link_(std::make_unique<StoreLink>(
          [this](uint64_t call, absl::StatusOr<v1::StoreReply> reply) { Replied(call, std::move(reply)); })) {}

AgentStore::~AgentStore() {
  EndRound();
  std::thread ticker;
  {
    MutexLock lock(mutex_);
    is_closing_ = true;
    changed_.NotifyAll();
    ticker = std::move(ticker_);
  }
  if (ticker.joinable()) ticker.join();
  link_.reset();
}

template <typename Step>
void AgentStore::Do(const Step& step) {
  StoreCore::Effects effects;
  absl::Status ticks;
  {
    MutexLock lock(mutex_);
    const bool was_idle = core_.IsIdle();
    effects = step(core_, clock_.Read().monotonic);
    if (!core_.IsIdle() && (was_idle || !ticker_.joinable())) ticks = StartTicking();
  }
  if (!ticks.ok()) {
    counted_.Note(Severity::kError, "no thread for the store",
                  absl::StrCat("calls of the job's store may hang: ", std::string(ticks.message())));
  }
  if (!effects.sends.empty()) link_->Call(effects.sends);  // a link that ends answers these, too
  for (const StoreCore::Refused& refused : effects.refused) {
    counted_.Note(Severity::kWarning, "a late change refused",
                  absl::StrCat("the job's store refused to change key ", Quoted(refused.key, kShownKeyBytes),
                               "; before that, the caller got the answer that the change may still be made: ",
                               std::string(refused.why.message())));
  }
  for (const auto& callback : effects.callbacks) callback();
}

void AgentStore::Replied(uint64_t call, absl::StatusOr<v1::StoreReply> reply) {
  if (call < kFirstReport) {
    return Do([&](StoreCore& core, MonotonicTime now) { return core.Replied(call, std::move(reply), now); });
  }
  std::function<void(absl::StatusOr<v1::StoreReply>)> done;
  {
    MutexLock lock(mutex_);
    if (const auto report = reports_.find(call); report != reports_.end()) {
      done = std::move(report->second);
      reports_.erase(report);
    }
  }
  if (done) done(std::move(reply));
}

void AgentStore::Report(v1::ReplicasReport report, std::function<void(absl::StatusOr<v1::StoreReply>)> done) {
  uint64_t call = 0;
  {
    MutexLock lock(mutex_);
    if (const v1::StoreCaller* caller = core_.caller()) {
      *report.mutable_caller() = *caller;
      call = ++last_report_;
      reports_[call] = done;
    }
  }
  if (call == 0) return done(absl::FailedPreconditionError("no round is under way"));
  const absl::Duration limit = absl::Milliseconds(report.wait_ms()) + kReportSlack;
  link_->Report(call, report, limit);
}

absl::Status AgentStore::StartTicking() {
  if (is_closing_) return absl::OkStatus();
  if (!ticker_.joinable()) {
    absl::StatusOr<std::thread> thread = TryThread([this] { TickOn(); });
    if (!thread.ok()) return thread.status();
    ticker_ = *std::move(thread);
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

void AgentStore::TickOn() {
  pthread_setname_np(pthread_self(), "ms-store-tick");
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!is_closing_) changed_.WaitFor(mutex_, core_.IsIdle() ? absl::InfiniteDuration() : StoreCore::kTick);
      if (is_closing_) return;
      if (core_.IsIdle()) continue;
    }
    Do([](StoreCore& core, MonotonicTime now) { return core.Tick(now); });
  }
}

void AgentStore::BeginRound(v1::StoreCaller caller) {
  Do([&](StoreCore& core, MonotonicTime) { return core.BeginRound(std::move(caller)); });
}

void AgentStore::EndRound() {
  Do([](StoreCore& core, MonotonicTime) { return core.EndRound(); });
  counted_.Flush();
}

void AgentStore::SetChannel(std::shared_ptr<grpc::Channel> channel) {
  const bool is_there = channel != nullptr;
  if (!is_there) Do([](StoreCore& core, MonotonicTime now) { return core.Disconnect(now); });
  link_->SetChannel(std::move(channel));
  if (is_there) Do([](StoreCore& core, MonotonicTime now) { return core.Connect(now); });
}

void AgentStore::Get(const std::string& key, ValueDone done) {
  Do([&](StoreCore& core, MonotonicTime now) { return core.Get(key, std::move(done), now); });
}

void AgentStore::Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) {
  Do([&](StoreCore& core, MonotonicTime now) { return core.Wait(key, absl::FromChrono(limit), std::move(done), now); });
}

void AgentStore::Together(const std::function<void()>& steps) {
  {
    const MutexLock lock(mutex_);
    core_.Hold();
  }
  steps();
  Do([](StoreCore& core, MonotonicTime now) { return core.Release(now); });
}

void AgentStore::Refresh() {
  const MutexLock lock(mutex_);
  core_.Refresh();
}

void AgentStore::Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done) {
  Do([&](StoreCore& core, MonotonicTime now) {
    return core.Change(std::move(change), std::move(done), now, StoreCore::kPatience);
  });
}

void AgentStore::Patient::Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done) {
  store_.Do([&](StoreCore& core, MonotonicTime now) {
    return core.Change(std::move(change), std::move(done), now, absl::InfiniteDuration());
  });
}

void RequestedChanges::Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) {
  v1::StoreSet set;
  set.set_key(key);
  set.set_value(value);
  set.set_lifetime(ToProto(lifetime));
  Change(std::move(set), [done = std::move(done)](const auto& reply) { done(reply.status()); });
}

void RequestedChanges::Delete(const std::string& key, Done done) {
  v1::StoreDelete request;
  request.set_key(key);
  Change(std::move(request), [done = std::move(done)](const auto& reply) { done(reply.status()); });
}

void RequestedChanges::Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) {
  v1::StoreAdd add;
  add.set_key(key);
  add.set_delta(delta);
  add.set_lifetime(ToProto(lifetime));
  Change(std::move(add), [done = std::move(done)](const auto& reply) {
    if (!reply.ok()) return done(reply.status());
    done(reply->number());
  });
}

void RequestedChanges::CompareAndSet(const std::string& key, const std::optional<std::string>& expected,
                                     const std::string& desired, Lifetime lifetime, ValueDone done) {
  v1::StoreCompareAndSet swap;
  swap.set_key(key);
  if (expected) swap.set_expected(*expected);
  swap.set_desired(desired);
  swap.set_lifetime(ToProto(lifetime));
  Change(std::move(swap), [done = std::move(done)](const auto& reply) {
    if (!reply.ok()) return done(reply.status());
    done(reply->has_value() ? std::optional<std::string>(reply->value()) : std::nullopt);
  });
}

void RequestedChanges::List(const std::string& prefix, const std::string& after, std::uint32_t most, ListDone done) {
  v1::StoreList list;
  list.set_key(prefix);
  list.set_after(after);
  list.set_limit(most);
  Change(std::move(list), [done = std::move(done)](const auto& reply) {
    if (!reply.ok()) return done(reply.status());
    Listing listing;
    for (const v1::StoreEntry& entry : reply->entries()) listing.entries.emplace_back(entry.key(), entry.value());
    listing.has_more = reply->has_more();
    done(std::move(listing));
  });
}

bool AgentStore::HasRoom() const {
  MutexLock lock(mutex_);
  return core_.backlog_bytes() + kMaxChange <= kMaxStoreBacklogBytes;
}

}  // namespace muster::agent
