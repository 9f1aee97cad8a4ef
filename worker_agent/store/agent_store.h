// The agent's access to the job's store, which the scheduler keeps. Gateways use it. store_core.h says how fresh a read
// is, and what happens while the scheduler is not reachable.
//
// Rules for a gateway:
//   - It gets this object as a JobStore&. Between two rounds every call ends with kFailedPrecondition, and values of
//     Lifetime::kRound end with their round. gateway/gateway.h says how it learns of rounds.
//   - Keys and values are bytes. Use Lifetime::kRound for a key that names a process or a communicator.
//   - `done` may run in a thread of the store, or inside the call itself. No lock is held, so it may call the store.
//   - While HasRoom() is false, the store may refuse a change (kResourceExhausted). A gateway should then not read from
//     its peers, and check again from time to time.
//   - A Wait ends after 5 s at most (kMaxStoreWaitMs). Call it again to wait longer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/store/job_store.h"
#include "common/sys/log.h"
#include "worker_agent/store/store_core.h"
#include "worker_agent/store/store_link.h"

namespace muster::agent {

// Turns the changes of JobStore into requests to the scheduler, for Change to send.
class RequestedChanges : public JobStore {
 public:
  void Set(const std::string& key, const std::string& value, Lifetime lifetime, Done done) override;
  void Delete(const std::string& key, Done done) override;
  void Add(const std::string& key, std::int64_t delta, Lifetime lifetime, NumberDone done) override;
  void CompareAndSet(const std::string& key, const std::optional<std::string>& expected, const std::string& desired,
                     Lifetime lifetime, ValueDone done) override;
  void List(const std::string& prefix, const std::string& after, std::uint32_t most, ListDone done) override;

 protected:
  virtual void Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done) = 0;
};

// Thread-safe.
class AgentStore : public RequestedChanges {
 public:
  explicit AgentStore(const Clock& clock);
  // Ends the waiting calls with the answer that the round is over. No other thread may be inside a call.
  ~AgentStore() override;

  // ---- for the agent's loop
  void BeginRound(v1::StoreCaller caller);
  void EndRound();
  // Sets the channel to the scheduler; call it after each welcome. Null: the connection is lost.
  void SetChannel(std::shared_ptr<grpc::Channel> channel);

  // ---- for gateways
  void Get(const std::string& key, ValueDone done) override;
  void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) override;
  void Together(const std::function<void()>& steps) override;
  void Refresh() override;

  // The same store for callers that must know the outcome of each change. `done` is called once the change is made or
  // the round is over, however long that takes. It never gets the answer that the change may still be made.
  JobStore& patient() { return patient_; }

  // Sends a report of the round's lighthouse (proto/muster/v1/store.proto), and fills in its `caller`. `done` is called
  // once. UNAVAILABLE: the report did not arrive. FAILED_PRECONDITION: no round is in progress.
  void Report(v1::ReplicasReport report, std::function<void(absl::StatusOr<v1::StoreReply>)> done);

  // True if the store would accept a change of the largest size now.
  bool HasRoom() const;

 private:
  static constexpr uint64_t kFirstReport = uint64_t{1} << 63;  // numbers of the core's calls stay below

  void Replied(uint64_t call, absl::StatusOr<v1::StoreReply> reply);
  // Runs a step of the core with the lock held, then its effects without the lock.
  template <typename Step>
  void Do(const Step& step);
  // Makes the ticker's thread call Tick, since the core is not idle any more. RESOURCE_EXHAUSTED: the thread can't be
  // started; a later step tries again.
  absl::Status StartTicking() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TickOn();
  void Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done) override;

  class Patient final : public RequestedChanges {
   public:
    explicit Patient(AgentStore& store) : store_(store) {}
    void Get(const std::string& key, ValueDone done) override { store_.Get(key, std::move(done)); }
    void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) override {
      store_.Wait(key, limit, std::move(done));
    }
    void Together(const std::function<void()>& steps) override { store_.Together(steps); }
    void Refresh() override { store_.Refresh(); }

   private:
    void Change(StoreOperation change, std::function<void(absl::StatusOr<v1::StoreReply>)> done) override;

    AgentStore& store_;
  };

  Patient patient_{*this};
  const Clock& clock_;
  CountedLog counted_;
  mutable Mutex mutex_;
  CondVar changed_;
  StoreCore core_ ABSL_GUARDED_BY(mutex_);
  bool is_closing_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_report_ ABSL_GUARDED_BY(mutex_) = kFirstReport;
  std::map<uint64_t, std::function<void(absl::StatusOr<v1::StoreReply>)>> reports_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<StoreLink> link_;
  std::thread ticker_ ABSL_GUARDED_BY(mutex_);  // started at the first call, since most jobs don't use the store
};

}  // namespace muster::agent
