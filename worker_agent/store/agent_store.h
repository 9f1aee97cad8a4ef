// The job's store in an agent: the object that gateways get. Its promises beyond JobStore (how fresh a read is, what
// happens while the scheduler is away) are in store_core.h.
//
// For a gateway:
//   - It gets a JobStore& (this), and learns of rounds (gateway/gateway.h). Between two rounds
//     every call ends with kFailedPrecondition; nothing of a former round is seen in the next one.
//   - Keys and values are bytes. Lifetime::kRound is right for a key that names a process or a communicator.
//   - `done` is called by a thread of the store or from inside the call, without a lock held: it may call the store.
//   - While HasRoom() is false no change may be taken (kResourceExhausted): then stop reading from your peers, and look
//     again now and then.
//   - A Wait lasts 5 s at most (kMaxStoreWaitMs); ask again for more.
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

// Changes, as requests to the scheduler.
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
  // Ends the waiting calls with the answer that the round is over. No call may be under way.
  ~AgentStore() override;

  // ---- for the agent's loop
  void BeginRound(v1::StoreCaller caller);
  void EndRound();
  // Sets the channel after each welcome. Null: the connection is gone.
  void SetChannel(std::shared_ptr<grpc::Channel> channel);

  // ---- for gateways
  void Get(const std::string& key, ValueDone done) override;
  void Wait(const std::string& key, std::chrono::milliseconds limit, ValueDone done) override;
  void Together(const std::function<void()>& steps) override;
  void Refresh() override;

  // The same store for callers that must know the outcome of a change: their `done` comes when it is made, or the round
  // is over, however long that takes, and never with the answer that it may still be made.
  JobStore& patient() { return patient_; }

  // Sends a report of the round's lighthouse (proto/muster/v1/store.proto); the caller is filled in here. `done` is
  // called once, also with UNAVAILABLE, if the report did not arrive, and FAILED_PRECONDITION between two rounds.
  void Report(v1::ReplicasReport report, std::function<void(absl::StatusOr<v1::StoreReply>)> done);

  // True if a change of the largest size would be taken now.
  bool HasRoom() const;

 private:
  static constexpr uint64_t kFirstReport = uint64_t{1} << 63;  // calls of the core stay below

  void Replied(uint64_t call, absl::StatusOr<v1::StoreReply> reply);
  // Runs a step of the core, then its effects, without the lock.
  template <typename Step>
  void Do(const Step& step);
  // The core is not idle any more. RESOURCE_EXHAUSTED: nothing ticks until a later step finds a thread.
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
  std::thread ticker_ ABSL_GUARDED_BY(mutex_);  // from the first call on: most jobs keep nothing in the store
};

}  // namespace muster::agent
