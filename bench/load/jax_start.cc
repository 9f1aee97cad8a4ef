#include "bench/load/jax_start.h"

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/load/join_message.h"
#include "bench/peers/jax_topology.h"
#include "common/base/mutex.h"
#include "worker_agent/gateway/jax/coordination.h"
#include "worker_agent/store/agent_store.h"

namespace muster::bench {
namespace {

constexpr uint64_t kService = 1;
constexpr absl::Duration kTick = absl::Milliseconds(100);

using jax::Method;
using jax::Reply;
using jax::Request;

}  // namespace

struct JaxStart::Progress {
  std::atomic<size_t> done = 0;  // processes
  Mutex mutex;
  absl::Status failure ABSL_GUARDED_BY(mutex);

  void Fail(const absl::Status& status) {
    const MutexLock lock(mutex);
    failure.Update(status);
  }
  absl::Status Failure() {
    const MutexLock lock(mutex);
    return failure;
  }
};

// An agent's store and gateway, with a thread of its own as the real one has; and its processes.
class JaxStart::Agent {
 public:
  Agent(const Clock& clock, v1::StoreCaller caller, std::shared_ptr<grpc::Channel> channel, agent::TaskLayout layout,
        Progress& progress)
      : layout_(std::move(layout)),
        progress_(progress),
        store_(clock),
        coordination_(
            store_.patient(), clock, [this](std::function<void()> step) { Post(std::move(step)); }, layout_, kService) {
    store_.BeginRound(std::move(caller));
    store_.SetChannel(std::move(channel));
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "load-jax");
      TakeSteps();
    });
  }

  void Begin() {
    for (const int32_t task : layout_.agents[layout_.own]) {
      Post([this, task] { Register(task); });
    }
  }

 private:
  void Post(std::function<void()> step) {
    const MutexLock lock(mutex_);
    steps_.push_back(std::move(step));
    changed_.NotifyAll();
  }

  void TakeSteps() {
    while (true) {
      std::vector<std::function<void()>> steps;
      {
        const MutexLock lock(mutex_);
        if (steps_.empty()) changed_.WaitFor(mutex_, kTick);
        steps.swap(steps_);
      }
      store_.Together([&] {
        for (const auto& step : steps) step();
      });
      if (steps.empty()) coordination_.Tick();
    }
  }

  // Handles a process's request. `then` runs in a step of its own, since a real process's next request comes
  // separately.
  void Ask(Request request, std::function<void(const Reply& reply)> then) {
    request.service_incarnation = request.method == Method::kRegister ? 0 : kService;
    coordination_.Handle(std::move(request), std::make_shared<jax::HeldRequest>(
                                                 [this, then = std::move(then)](absl::StatusOr<Reply> reply) {
                                                   if (!reply.ok()) return progress_.Fail(reply.status());
                                                   Post([then, reply = *std::move(reply)] { then(reply); });
                                                 }));
  }
  void Get(const std::string& key, std::function<void(const Reply& reply)> then) {
    Request request;
    request.method = Method::kGet;
    request.name = key;
    Ask(std::move(request), std::move(then));
  }
  void Insert(const std::string& key, std::string value, std::function<void(const Reply& reply)> then) {
    Request request;
    request.method = Method::kInsert;
    request.name = key;
    request.value = std::move(value);
    Ask(std::move(request), std::move(then));
  }

  void Register(int32_t task) {
    Request request;
    request.method = Method::kRegister;
    request.task = task;
    request.incarnation = 1000 + static_cast<uint64_t>(task);
    Ask(std::move(request), [this, task](const Reply&) {
      Request poll;
      poll.method = Method::kPollForError;
      poll.task = task;
      Ask(std::move(poll), [](const Reply&) {});
      Get("RECEIVED_PREEMPTION_NOTICE", [](const Reply&) {});
      Insert(LocalTopologyKey(task), std::string(kTopologyBytes, 'x'), [this, task](const Reply&) {
        if (task == 0) return Collect();
        Get(kGlobalTopologyKey, [this](const Reply& reply) { Check(reply); });
      });
    });
  }

  void Collect() {
    for (int32_t task = 0; task < layout_.size(); ++task) {
      Get(LocalTopologyKey(task), [this](const Reply&) {
        if (++collected_ != static_cast<size_t>(layout_.size())) return;
        Insert(kGlobalTopologyKey, std::string(kTopologyBytes * static_cast<size_t>(layout_.size()), 'x'),
               [this](const Reply&) { ++progress_.done; });
      });
    }
  }

  void Check(const Reply& reply) {
    const bool is_whole =
        !reply.values.empty() && reply.values[0].second.size() == kTopologyBytes * static_cast<size_t>(layout_.size());
    if (!is_whole) return progress_.Fail(absl::DataLossError("a part of the topology"));
    ++progress_.done;
  }

  const agent::TaskLayout layout_;
  Progress& progress_;
  agent::AgentStore store_;
  jax::Coordination coordination_;  // used by the agent's thread only
  size_t collected_ = 0;            // the same
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::function<void()>> steps_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

JaxStart::JaxStart(const LoadSettings& settings, Crowd& crowd, const Clock& clock)
    : settings_(settings), clock_(clock), progress_(std::make_unique<Progress>()) {
  agent::TaskLayout layout;
  struct Joined {
    v1::StoreCaller caller;
    std::shared_ptr<grpc::Channel> channel;
  };
  std::vector<Joined> joined;
  crowd.Inspect([&](const bench::Agent& agent) {
    v1::StoreCaller caller;
    caller.set_job_id(settings.job_id);
    caller.set_run(agent.desired().run());
    caller.set_round(agent.desired().round());
    caller.set_node_id(MakeJoin(settings.job_id, settings.agents, settings.slots, agent.member()).join().node_id());
    caller.set_incarnation(agent.member().incarnation);
    joined.push_back({std::move(caller), agent.channel()});
    layout.hosts.push_back(joined.back().caller.node_id());
    layout.agents.emplace_back(agent.ranks().begin(), agent.ranks().end());
  });
  for (layout.own = 0; layout.own < joined.size(); ++layout.own) {
    agents_.push_back(
        std::make_unique<Agent>(clock, joined[layout.own].caller, joined[layout.own].channel, layout, *progress_));
  }
}

absl::StatusOr<absl::Duration> JaxStart::Run() {
  const size_t all = size_t{settings_.agents} * settings_.slots;
  const MonotonicTime begin = clock_.Read().monotonic;
  for (const auto& agent : agents_) agent->Begin();
  while (progress_->done < all) {
    if (absl::Status failure = progress_->Failure(); !failure.ok()) return failure;
    if (clock_.Read().monotonic - begin > settings_.limit) {
      return absl::DeadlineExceededError(absl::StrCat(progress_->done.load(), " of ", all, " processes have started"));
    }
    absl::SleepFor(absl::Microseconds(500));
  }
  return clock_.Read().monotonic - begin;
}

}  // namespace muster::bench
