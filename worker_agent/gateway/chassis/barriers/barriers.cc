// The effect of a task's arrival:
//
//   its name is new here, or was forgotten             a new barrier begins, with the number that it brings
//   it brings the number of the barrier under way      the task joins this barrier
//   it brings the number of the last, ended barrier    the task gets this barrier's result again
//   it brings the next number after an ended barrier   a new barrier begins
//   it brings another number                           INTERNAL, with the expected number
//   it names other participants than the first caller  INVALID_ARGUMENT for all callers
//   the task is not a participant                      INVALID_ARGUMENT for all callers
//
// The keys in the store belong to the round. They begin with PREFIX NAME#NUMBER/ and go on with:
//   a/AGENT   StoredArrival: all participants on this agent have come
//   p/AGENT   StoredArrival: the participants on this agent that have come so far, if some are missing after a second
//   r         StoredResult
#include "worker_agent/gateway/chassis/barriers/barriers.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/text.h"
#include "worker_agent/gateway/chassis/store_answers.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxNameInKey = 700;  // less than kMaxStoreKeyBytes: the key also has a prefix, a counter and an agent
constexpr size_t kMaxNameBytes = 16 * 1024;
constexpr size_t kShownNameBytes = 100;
constexpr size_t kShownTasks = 8;
constexpr absl::Duration kKeepResult = absl::Hours(1);
constexpr size_t kMaxResults = 50'000;
constexpr absl::Duration kNoteAfter = absl::Seconds(1);

using barriers::StoredArrival;
using barriers::StoredResult;

}  // namespace

absl::Status Barriers::Check(const Arrival& arrival) const {
  if (arrival.name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a barrier's name has ", kMaxNameBytes, " bytes at most"));
  }
  for (const int32_t task : arrival.tasks) {
    if (task >= 0 && task < layout_.size()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Unexpected ", options_.task, " (", task,
        ") that is not in the cluster called the barrier. Barrier Id: ", Quoted(arrival.name, kShownNameBytes)));
  }
  return absl::OkStatus();
}

std::string Barriers::KeyOf(const Barrier& barrier) const {
  const std::string name = barrier.name.size() <= kMaxNameInKey
                               ? barrier.name
                               : absl::StrCat("#", absl::BytesToHexString(Sha256(barrier.name)));
  return absl::StrCat(options_.prefix, name, "#", barrier.counter, "/");
}

size_t Barriers::CountOwn(const Barrier& barrier) const {
  const std::vector<int32_t>& own = layout_.agents[layout_.own];
  return static_cast<size_t>(std::count_if(own.begin(), own.end(), [&barrier](int32_t task) {
    return std::binary_search(barrier.tasks.begin(), barrier.tasks.end(), task);
  }));
}

// Returns the short text "all" if `tasks` are all tasks, because thousands of agents write this text at every barrier.
std::string Barriers::TextOf(const std::vector<int32_t>& tasks) const {
  return tasks == everyone_ ? "all" : absl::StrJoin(tasks, ",");
}

std::vector<size_t> Barriers::AgentsOf(const Barrier& barrier) const {
  std::vector<std::pair<int32_t, size_t>> lowest;
  for (size_t agent = 0; agent < layout_.agents.size(); ++agent) {
    for (const int32_t task : layout_.agents[agent]) {
      if (!std::binary_search(barrier.tasks.begin(), barrier.tasks.end(), task)) continue;
      if (lowest.empty() || lowest.back().second != agent) lowest.emplace_back(task, agent);
      lowest.back().first = std::min(lowest.back().first, task);
    }
  }
  // All agents must compute the same order: the first agent in it collects the arrivals and writes the result.
  std::sort(lowest.begin(), lowest.end());
  std::vector<size_t> agents;
  for (const auto& [task, agent] : lowest) agents.push_back(agent);
  return agents;
}

StoredArrival Barriers::StoredOf(const Barrier& barrier) const {
  StoredArrival arrival;
  arrival.set_all(TextOf(barrier.tasks));
  for (const auto& [task, came] : barrier.came) {
    arrival.add_tasks(task);
    arrival.add_incarnations(came.first);
  }
  return arrival;
}

absl::Status Barriers::Conflict(const Barrier& barrier, const std::string& whose) const {
  return absl::InvalidArgumentError(absl::StrCat("Conflicting ", options_.task, "s specified for the same barrier: ",
                                                 Quoted(barrier.name, kShownNameBytes), whose));
}

int64_t Barriers::CounterOf(const std::string& name) const {
  const auto found = barriers_.find(name);
  if (found == barriers_.end()) return 0;
  return found->second->counter + (found->second->result ? 1 : 0);
}

void Barriers::Arrive(Arrival arrival, Done done) {
  if (absl::Status status = Check(arrival); !status.ok()) return done(std::move(status), std::nullopt);
  std::vector<int32_t> tasks = std::move(arrival.tasks);
  if (tasks.empty()) tasks = everyone_;
  if (!std::is_sorted(tasks.begin(), tasks.end())) std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());

  if (under_way_ >= kMaxUnderWay && !barriers_.contains(arrival.name)) {
    return done(absl::ResourceExhaustedError(absl::StrCat(under_way_, " barriers are under way on this node already")),
                std::nullopt);
  }
  Shared& barrier = barriers_[arrival.name];
  const bool is_first = barrier == nullptr;
  if (!is_first && barrier->result && arrival.counter == barrier->counter)
    return done(*barrier->result, barrier->counter);
  const bool is_next = !is_first && barrier->result && arrival.counter == barrier->counter + 1;
  if (is_first || is_next) {
    if (is_next) std::erase(ended_, arrival.name);
    barrier = std::make_shared<Barrier>();
    barrier->name = arrival.name;
    barrier->counter = arrival.counter;
    barrier->tasks = tasks;
    if (arrival.limit > absl::ZeroDuration()) barrier->deadline = clock_.Read().monotonic + arrival.limit;
    barrier->noted_at = clock_.Read().monotonic;
    ++under_way_;
  } else if (arrival.counter != barrier->counter) {
    const int64_t now_at = CounterOf(arrival.name);
    return done(absl::InternalError(
                    absl::StrCat("Barrier ", Quoted(arrival.name, kShownNameBytes), " is now at number ", now_at, ".")),
                now_at);
  }
  const Shared joined = barrier;
  auto& came = joined->came[arrival.task];
  if (came.second)
    came.second(absl::UnavailableError(absl::StrCat("the ", options_.task, " has called this barrier again")),
                std::nullopt);
  came = {arrival.incarnation, std::move(done)};
  if (joined->tasks != tasks) {
    return Publish(joined, Conflict(*joined, absl::StrCat(", by ", options_.task, " ", arrival.task)));
  }
  if (!std::binary_search(tasks.begin(), tasks.end(), arrival.task)) {
    return Publish(joined, absl::InvalidArgumentError(
                               absl::StrCat("A non-participating ", options_.task, " (", arrival.task,
                                            ") called the barrier: ", Quoted(arrival.name, kShownNameBytes))));
  }
  if (!joined->is_written && joined->came.size() >= CountOwn(*joined)) Write(joined);
}

void Barriers::Write(const Shared& barrier) {
  store_.Together([&] { WriteAndWait(barrier); });
}

void Barriers::WriteAndWait(const Shared& barrier) {
  barrier->is_written = true;
  store_.Set(absl::StrCat(KeyOf(*barrier), "a/", layout_.own), StoredOf(*barrier).SerializeAsString(), Lifetime::kRound,
             Posted(post_, std::function([this, barrier](absl::Status status) {
                      if (!status.ok() && !absl::IsDeadlineExceeded(status)) return Publish(barrier, status);
                    })));
  if (!barrier->is_awaited) AwaitResult(barrier);
  const std::vector<size_t> agents = AgentsOf(*barrier);
  if (agents.front() != layout_.own) return;
  barrier->missing = agents.size() - 1;
  if (barrier->missing == 0) return Publish(barrier, absl::OkStatus());
  for (size_t i = 1; i < agents.size(); ++i) Collect(barrier, agents[i]);
}

void Barriers::Collect(const Shared& barrier, size_t agent) {
  if (barrier->result) return;
  store_.Wait(absl::StrCat(KeyOf(*barrier), "a/", agent), std::chrono::milliseconds(kMaxStoreWaitMs),
              Posted(post_, std::function([this, barrier, agent](StoreValue held) {
                       if (ComesAgain(held.status()) || (held.ok() && !held->has_value()))
                         return Collect(barrier, agent);
                       if (!held.ok()) return Publish(barrier, held.status());
                       StoredArrival arrival;
                       if (!arrival.ParseFromString(**held) || arrival.all() != TextOf(barrier->tasks)) {
                         return Publish(barrier, Conflict(*barrier, absl::StrCat(", on ", layout_.hosts[agent])));
                       }
                       if (--barrier->missing == 0) Publish(barrier, absl::OkStatus());
                     })));
}

void Barriers::AwaitResult(const Shared& barrier) {
  barrier->is_awaited = true;
  if (barrier->result) return;
  store_.Wait(absl::StrCat(KeyOf(*barrier), "r"), std::chrono::milliseconds(kMaxStoreWaitMs),
              Posted(post_, std::function([this, barrier](StoreValue held) {
                       if (ComesAgain(held.status()) || (held.ok() && !held->has_value())) return AwaitResult(barrier);
                       if (!held.ok()) return Finish(barrier, held.status());
                       TakeResult(barrier, **held);
                     })));
}

void Barriers::TakeResult(const Shared& barrier, const std::string& stored) {
  StoredResult result;
  if (!result.ParseFromString(stored)) {
    return Finish(barrier, absl::InternalError("the value in the job's store was not written by an agent"));
  }
  if (result.all() != TextOf(barrier->tasks)) return Finish(barrier, Conflict(*barrier, ", on another node"));
  Finish(barrier, absl::Status(static_cast<absl::StatusCode>(result.code()), result.text()));
}

// Writes the result. If another agent has already written one, that one counts, and the barrier ends with it.
void Barriers::Publish(const Shared& barrier, const absl::Status& status) {
  if (barrier->result) return;
  StoredResult result;
  result.set_code(status.raw_code());
  result.set_text(std::string(status.message()));
  result.set_all(TextOf(barrier->tasks));
  store_.CompareAndSet(absl::StrCat(KeyOf(*barrier), "r"), std::nullopt, result.SerializeAsString(), Lifetime::kRound,
                       Posted(post_, std::function([this, barrier, status](StoreValue held) {
                                if (ComesAgain(held.status())) return Publish(barrier, status);
                                if (!held.ok()) return Finish(barrier, held.status());
                                if (held->has_value()) TakeResult(barrier, **held);
                              })));
}

void Barriers::Cancel(const std::string& name, int64_t counter) {
  const auto found = barriers_.find(name);
  if (found == barriers_.end() || found->second->result || found->second->counter != counter) return;
  Publish(found->second, absl::CancelledError(absl::StrCat("Barrier was cancelled: ", Quoted(name, kShownNameBytes))));
}

void Barriers::Finish(const Shared& barrier, const absl::Status& result) {
  if (barrier->result) return;
  barrier->result = result;
  --under_way_;
  store_.Refresh();
  Sweep(*barrier);
  // Names that begin with '[' are those of the gateway's own barriers. They are few, and stay.
  if (barrier->name.front() != '[') ended_.push_back(barrier->name);
  auto came = std::exchange(barrier->came, {});
  for (auto& [task, waiting] : came) waiting.second(result, barrier->counter);
  while (ended_.size() > kMaxNames) {
    barriers_.erase(ended_.front());
    ended_.pop_front();
  }
}

// Deletes what this agent wrote for the barrier: its arrivals were collected, or no longer count. The result stays for
// kKeepResult, so that agents that can't reach the scheduler now can read it later. No agent tries to reach the
// scheduler for longer than that.
void Barriers::Sweep(const Barrier& ended) {
  const auto ignore = [](const absl::Status&) {};
  const MonotonicTime now = clock_.Read().monotonic;
  if (ended.name != options_.keeps_arrivals_of) store_.Delete(absl::StrCat(KeyOf(ended), "a/", layout_.own), ignore);
  if (ended.noted > 0) store_.Delete(absl::StrCat(KeyOf(ended), "p/", layout_.own), ignore);
  if (AgentsOf(ended).front() == layout_.own) results_.emplace_back(now + kKeepResult, absl::StrCat(KeyOf(ended), "r"));
  while (!results_.empty() && (results_.front().first <= now || results_.size() > kMaxResults)) {
    store_.Delete(results_.front().second, ignore);
    results_.pop_front();
  }
}

void Barriers::Tick() {
  const MonotonicTime now = clock_.Read().monotonic;
  std::vector<Shared> late;
  for (auto& [name, barrier] : barriers_) {
    if (barrier->result) continue;
    if (!barrier->is_awaited) AwaitResult(barrier);  // another agent may have ended it with an error
    if (now >= barrier->deadline && !barrier->is_late) late.push_back(barrier);
    if (now >= barrier->noted_at + kNoteAfter) Note(barrier);
  }
  for (const Shared& barrier : late) PublishMissing(barrier);
}

// Writes to the store which of this agent's tasks have come. When the barrier's time is up, the agent that notices
// this reads these entries to name the missing tasks.
void Barriers::Note(const Shared& barrier) {
  barrier->noted_at = clock_.Read().monotonic;
  if (barrier->is_written || barrier->noted == barrier->came.size()) return;
  barrier->noted = barrier->came.size();
  store_.Set(absl::StrCat(KeyOf(*barrier), "p/", layout_.own), StoredOf(*barrier).SerializeAsString(), Lifetime::kRound,
             [](const absl::Status&) {});
}

void Barriers::PublishMissing(const Shared& barrier) {
  barrier->is_late = true;
  using Page = absl::StatusOr<JobStore::Listing>;
  store_.List(KeyOf(*barrier), "", 0,
              Posted(post_, std::function([this, barrier](Page page) {
                       if (ComesAgain(page.status())) return PublishMissing(barrier);
                       std::set<int32_t> missing(barrier->tasks.begin(), barrier->tasks.end());
                       for (const auto& [task, came] : barrier->came) missing.erase(task);
                       for (const auto& [key, value] : page.ok() ? page->entries : JobStore::Listing().entries) {
                         StoredArrival arrival;
                         if (!arrival.ParseFromString(value)) continue;
                         for (const int32_t task : arrival.tasks()) missing.erase(task);
                       }
                       std::vector<std::string> named;
                       for (size_t agent = 0; agent < layout_.agents.size(); ++agent) {
                         for (const int32_t task : layout_.agents[agent]) {
                           if (!missing.contains(task) || named.size() >= kShownTasks) continue;
                           named.push_back(absl::StrCat(task, " on ", layout_.hosts[agent]));
                         }
                       }
                       const size_t more = missing.size() - named.size();
                       Publish(barrier, absl::DeadlineExceededError(absl::StrCat(
                                            "Barrier timed out. Id: ", Quoted(barrier->name, kShownNameBytes), ". ",
                                            barrier->tasks.size() - missing.size(), " of ", barrier->tasks.size(), " ",
                                            options_.task, "s have come; missing: ", absl::StrJoin(named, ", "),
                                            more > 0 ? absl::StrCat(" and ", more, " more") : "", ".")));
                     })));
}

void Barriers::Incarnation(const std::string& name, int64_t counter,
                           std::function<void(absl::StatusOr<Incarnations>)> done) {
  Barrier barrier;
  barrier.name = name;
  barrier.counter = counter;
  using Page = absl::StatusOr<JobStore::Listing>;
  // One page holds all arrivals: an arrival takes less than 20 bytes for each task, and a gateway serves a limited
  // number of ranks.
  store_.List(absl::StrCat(KeyOf(barrier), "a/"), "", 0,
              Posted(post_, std::function([this, name, counter, done](Page page) {
                       if (ComesAgain(page.status())) return Incarnation(name, counter, done);
                       if (!page.ok()) return done(page.status());
                       Incarnations incarnations;
                       for (const auto& [key, value] : page->entries) {
                         StoredArrival arrival;
                         if (!arrival.ParseFromString(value)) continue;
                         const int known = std::min(arrival.tasks_size(), arrival.incarnations_size());
                         for (int i = 0; i < known; ++i) incarnations[arrival.tasks(i)] = arrival.incarnations(i);
                       }
                       done(std::move(incarnations));
                     })));
}

}  // namespace muster::agent
