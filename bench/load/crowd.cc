#include "bench/load/crowd.h"

#include <pthread.h>

#include <queue>
#include <thread>
#include <utility>

#include "common/base/mutex.h"
#include "common/net/grpc_calls.h"

namespace muster::bench {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(5);  // how often an idle thread looks for requests
constexpr size_t kBeginAtOnce = 16;                      // agents that begin between two looks at the queue
constexpr int kEventsAtOnce = 256;

}  // namespace

// One queue, its thread, and its agents.
struct Crowd::Shard {
  explicit Shard(const Context& shared) : context(shared), datagrams(shared.target) {}

  void Run() {
    pthread_setname_np(pthread_self(), "load-agents");
    size_t begun = 0;
    while (!is_ending) {
      if (has_begun) {
        for (size_t i = 0; i < kBeginAtOnce && begun < agents.size(); ++i, ++begun) {
          agents[begun]->Begin();
          Plan(begun);
        }
      }
      Drain(has_begun && begun < agents.size() ? absl::ZeroDuration() : kLook);
      datagrams.Take();
      RunTimers();
      DoWhatIsAsked();
    }
  }

  // Takes what has come, after waiting for `patience` at most.
  void Drain(absl::Duration patience) {
    void* tag = nullptr;
    bool ok = false;
    for (int taken = 0; taken < kEventsAtOnce; ++taken) {
      const auto got = queue.AsyncNext(&tag, &ok, GrpcDeadline(taken == 0 ? patience : absl::ZeroDuration()));
      if (got != grpc::CompletionQueue::GOT_EVENT) return;
      const Link::Tag came = *static_cast<Link::Tag*>(tag);
      const bool was_in = agents[came.number]->is_in();
      came.link->On(came.op, ok);
      const bool is_in = agents[came.number]->is_in();
      if (is_in != was_in) in += is_in ? 1 : -1;
      Plan(came.number);
    }
  }

  void Plan(size_t place) {
    const MonotonicTime when = agents[place]->next_at();
    if (when == planned[place] || when.is_never()) return;
    planned[place] = when;
    timers.emplace(when, place);
  }

  void RunTimers() {
    const MonotonicTime now = context.clock.Read().monotonic;
    while (!timers.empty() && timers.top().first <= now) {
      const auto [when, place] = timers.top();
      timers.pop();
      if (agents[place]->next_at() != when) continue;  // it was moved in the meantime
      agents[place]->OnTime();
      Plan(place);
    }
  }

  // Called from any other thread: makes this thread do `what`, and waits for it.
  void Ask(std::function<void()> what) {
    MutexLock lock(mutex);
    asked = std::move(what);
    while (asked) answered.Wait(mutex);
  }

  void DoWhatIsAsked() {
    MutexLock lock(mutex);
    if (!asked) return;
    asked();
    asked = nullptr;
    answered.NotifyAll();
  }

  const Context& context;
  grpc::CompletionQueue queue;
  Datagrams datagrams;
  Tally tally;
  std::vector<std::unique_ptr<Agent>> agents;
  std::vector<MonotonicTime> planned;  // by agent: its latest entry in `timers`
  using Timer = std::pair<MonotonicTime, size_t>;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers;
  std::thread thread;

  std::atomic<int64_t> in = 0;  // agents that are in
  std::atomic<bool> has_begun = false;
  std::atomic<bool> is_ending = false;
  Mutex mutex;
  CondVar answered;
  std::function<void()> asked ABSL_GUARDED_BY(mutex);
};

Crowd::Crowd(const LoadSettings& settings, std::string target, std::shared_ptr<grpc::ChannelCredentials> credentials,
             const Clock& clock)
    : clock_(clock), context_{settings, clock, std::move(target), std::move(credentials)} {
  for (uint32_t i = 0; i < settings.threads; ++i) shards_.push_back(std::make_unique<Shard>(context_));
  for (uint32_t number = 0; number < settings.agents; ++number) {
    Shard& shard = *shards_[number % settings.threads];
    shard.agents.push_back(
        std::make_unique<Agent>(context_, shard.queue, shard.datagrams, shard.tally, number, shard.agents.size()));
    shard.planned.push_back(MonotonicTime::Never());
  }
  for (const auto& shard : shards_) shard->thread = std::thread([&shard] { shard->Run(); });
}

Crowd::~Crowd() {
  for (const auto& shard : shards_) shard->is_ending = true;
  for (const auto& shard : shards_) shard->thread.join();
}

void Crowd::Begin() {
  for (const auto& shard : shards_) shard->has_begun = true;
}

uint32_t Crowd::CountIn() const {
  int64_t in = 0;
  for (const auto& shard : shards_) in += shard->in;
  return static_cast<uint32_t>(in);
}

bool Crowd::AwaitIn(uint32_t count, absl::Duration limit) const {
  return Await([&] { return CountIn() >= count; }, limit);
}

bool Crowd::AwaitOut(absl::Duration limit) const {
  return Await([&] { return CountIn() == 0; }, limit);
}

bool Crowd::Await(const std::function<bool()>& is_true, absl::Duration limit) const {
  const MonotonicTime end = clock_.Read().monotonic + limit;
  while (!is_true()) {
    if (clock_.Read().monotonic >= end) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

void Crowd::OpenWindow(absl::Duration length) {
  const MonotonicTime begin = clock_.Read().monotonic;
  for (const auto& shard : shards_) {
    shard->Ask([&] {
      shard->tally.window_begin = begin;
      shard->tally.window_end = begin + length;
      shard->tally.bytes = 0;
    });
  }
}

void Crowd::Inspect(const std::function<void(const Agent&)>& look,
                    const std::function<void(const Tally&)>& look_tally) {
  for (const auto& shard : shards_) {
    shard->Ask([&] {
      for (const auto& agent : shard->agents) look(*agent);
      if (look_tally) look_tally(shard->tally);
    });
  }
}

}  // namespace muster::bench
