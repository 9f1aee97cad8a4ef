#include "tests/sim/actors/keeper.h"

#include <algorithm>
#include <utility>

namespace muster::sim {
namespace {

constexpr int kTerm = 15;
constexpr double kIgnoresStop = 0.1;

agent::ProcessHasEnded EndedOf(const Keeper::Order& order, ExitStatus death, bool was_stopped) {
  agent::ProcessHasEnded ended;
  ended.key = order.key();
  ended.end.exit = death;
  ended.end.was_stopped = was_stopped;
  if (!was_stopped && death.code == kBrokenDevice)
    ended.end.error_message = "RuntimeError: uncorrectable ECC error encountered";
  if (!was_stopped && death.code == kScriptBug) ended.end.error_message = "ValueError: no such column";
  return ended;
}

// Chosen so that all processes of a run end at about the same time.
absl::Duration LengthOf(const RunName& run, absl::Duration longest, uint64_t seed) {
  uint64_t mixed = seed + run.run * 7919;
  for (const char c : run.cluster_id + run.job_id) mixed = mixed * 131 + static_cast<unsigned char>(c);
  return Random(mixed).UpTo(longest);
}

// The time of a step. It has a random source of its own, so that the other choices of a seed stay the same.
absl::Duration PerStep(Random random) {
  return random.Chance(0.25) ? absl::InfiniteDuration() : random.Between(absl::Milliseconds(300), absl::Seconds(10));
}

// True if a process starts another one that outlives it. Has a random source of its own, like PerStep.
bool LeavesDescendant(Random random, double share) { return share > 0 && random.Chance(share); }

// The time that a process takes to die after SIGKILL: now and then it hangs in a driver.
absl::Duration DyingTime(Random random, bool may_hang) {
  if (!may_hang || !random.Chance(0.1)) return random.UpTo(absl::Milliseconds(50));
  return random.UpTo(absl::Seconds(random.Chance(0.3) ? 90 : 20));
}

constexpr absl::Duration kLooksAgainAfter = absl::Milliseconds(200);
constexpr absl::Duration kNamedAfter = absl::Seconds(5);

}  // namespace

void Keeper::Command(std::function<void()> action) {
  last_command_ = std::max(last_command_, sim_.timeline.monotonic() + random_.UpTo(absl::Milliseconds(3)));
  sim_.timeline.At(last_command_, [this, action = std::move(action)] {
    if (is_alive_ && !is_ending_) action();
  });
}

void Keeper::ReportLater(agent::Event event, absl::Duration delay) {
  if (is_quiet_) return;
  last_report_at_ = std::max(last_report_at_, sim_.timeline.monotonic() + delay);
  sim_.timeline.At(last_report_at_, [this, event = std::move(event)] { report_(event); });
}

void Keeper::Start(std::vector<Order> orders) {
  const double failure = IsPeace() ? 0 : sim_.parameters.faults.launch_failure;
  if (random_.Chance(failure)) {
    std::vector<uint32_t> slots;
    for (const Order& order : orders) slots.push_back(order.slot);
    ReportLater(agent::LaunchFailed{orders.front().place.round, slots, "the work folder can't be written"});
    return;
  }
  for (const Order& order : orders) {
    if (random_.Chance(failure)) {
      Command([this, order] { FailLaunch(order, {127, 0}, "python: not found"); });
      continue;
    }
    last_command_ = std::max(last_command_, sim_.timeline.monotonic()) + random_.UpTo(absl::Milliseconds(40));
    ordered_.push_back(order.place);
    Command([this, order] { Spawn(order); });
  }
}

void Keeper::Spawn(const Order& order) {
  std::erase(ordered_, order.place);
  if (is_fence_down_) {
    ReportLater(EndedOf(order, {0, kTerm}, true));
    return;
  }
  if (sim_.timeline.monotonic() < starts_from_ && !IsPeace()) {
    FailLaunch(order, {126, 0}, "Too many open files");
    return;
  }
  const Key key = ++last_key_;
  Process& process = running_[key];
  process.order = order;
  process.started = sim_.timeline.monotonic();
  process.per_step = PerStep(Random(sim_.parameters.seed ^ (incarnation_ + key)));
  sim_.Trace("process ", order.place.Text(), " starts");
  processes_.Begin(order.place, incarnation_, [this, key](int exit_code) { EndByItself(key, {exit_code, 0}); });
  process.has_descendant = LeavesDescendant(Random((sim_.parameters.seed ^ (incarnation_ + key)) * 31 + 7),
                                            sim_.parameters.faults.leaves_descendant);
  if (process.has_descendant) processes_.BeginDescendant(order.place, incarnation_);
  ReportLater(agent::ProcessHasStarted{order.key(), 1000 + key});
  PlanFate(key, order);
}

void Keeper::FailLaunch(const Order& order, ExitStatus death, const std::string& why) {
  processes_.End(order.place, death, false);
  agent::ProcessHasEnded ended = EndedOf(order, death, false);
  ended.end.launch_error = why;
  ReportLater(std::move(ended));
}

void Keeper::PlanFate(Key key, const Order& order) {
  const absl::Duration length = LengthOf(order.place.run, job_.longest_run, sim_.parameters.seed);
  if (!IsPeace() && random_.Chance(job_.process_failure)) {
    std::vector<ExitStatus> deaths = {{kScriptBug, 0}, {kBrokenDevice, 0}, {0, 9}, {0, 11}, {0, 6}};
    const ExitStatus death = random_.Pick(deaths);
    sim_.timeline.After(random_.UpTo(length), [this, key, death] { EndByItself(key, death); });
    return;
  }
  sim_.timeline.After(length + random_.UpTo(absl::Milliseconds(800)), [this, key] { EndByItself(key, {0, 0}); });
}

void Keeper::StopAll() {
  Command([this] { StopNow(sim_.parameters.scheduler.stop_timeout); });
}

void Keeper::StopNow(absl::Duration timeout) {
  for (auto& [key, process] : running_) {
    if (process.is_stopping) continue;
    process.is_stopping = true;
    ExitStatus death{0, kTerm};
    absl::Duration delay = random_.UpTo(random_.Chance(0.7) ? absl::Milliseconds(300) : timeout);
    if (random_.Chance(kIgnoresStop)) {
      death = {0, kKill};
      delay = timeout;
    } else if (random_.Chance(0.3)) {
      death = {static_cast<int>(random_.Int(0, 1)), 0};
    }
    sim_.timeline.After(delay, [this, key = key, death] { End(key, death); });
  }
}

void Keeper::KillAll() {
  Command([this] {
    for (auto& [key, process] : running_) {
      process.is_stopping = true;
      sim_.timeline.After(random_.UpTo(absl::Milliseconds(50)), [this, key = key] { End(key, {0, kKill}); });
    }
  });
}

void Keeper::SetFence(std::optional<MonotonicTime> deadline) {
  Command([this, deadline] {
    const uint64_t number = ++fence_number_;
    if (!deadline) return;
    sim_.timeline.At(*deadline, [this, number] {
      if (!is_alive_ || number != fence_number_) return;
      sim_.Trace("the fence of ", incarnation_, " falls");
      is_fence_down_ = true;
      EndByFence();
      ReportLater(agent::FenceHasFallen{});
    });
  });
}

// Processes that were stopping before get no more time either. A process that hangs in a driver for longer than this
// outlives the fence. No program could notice it, so this is not simulated.
void Keeper::EndByFence() {
  is_fenced_ = true;
  StopNow(sim_.parameters.scheduler.fence_stop_timeout);
  std::vector<Key> fenced;
  for (const auto& [key, process] : running_) fenced.push_back(key);
  sim_.timeline.After(sim_.parameters.scheduler.fence_stop_timeout, [this, fenced] {
    for (const Key key : fenced) End(key, {0, kKill});
  });
  sim_.timeline.After(sim_.parameters.scheduler.fence_stop_timeout + absl::Seconds(1), [this] {
    for (auto& [key, remains] : remains_) EndDescendant(remains);
  });
}

void Keeper::End(Key key, ExitStatus death) {
  const auto it = running_.find(key);
  if (it == running_.end()) return;
  const Process process = it->second;
  running_.erase(it);
  sim_.Trace("process ", process.order.place.Text(), " ends, exit code ", death.code, " signal ", death.signal,
             process.is_stopping ? ", stopped" : "");
  processes_.End(process.order.place, death, process.is_stopping);
  Remains& remains = remains_[key];
  remains.order = process.order;
  remains.death = death;
  remains.was_stopped = process.is_stopping;
  remains.is_gone = !process.has_descendant;
  remains.died = sim_.timeline.monotonic();
  Sweep(key);
}

std::optional<bool> Keeper::IsAnythingLeft(const Remains& remains) const {
  if (sim_.timeline.monotonic() < sees_from_ && !IsPeace()) return std::nullopt;
  return !remains.is_gone;
}

void Keeper::Sweep(Key key) {
  const auto it = remains_.find(key);
  if (it == remains_.end() || !is_alive_) return;
  Remains& remains = it->second;
  const std::optional<bool> is_any_left = IsAnythingLeft(remains);
  if (is_any_left == false) {
    const Remains gone = remains;
    remains_.erase(it);
    if (gone.is_reported) return ReportLater(agent::NothingLeft{gone.order.key()});
    agent::ProcessHasEnded ended = EndedOf(gone.order, gone.death, gone.was_stopped);
    ended.age = absl::Milliseconds(1);
    ReportLater(std::move(ended));
    return;
  }
  if (is_any_left == true && !std::exchange(remains.is_killed, true)) {
    const Random random((sim_.parameters.seed ^ (incarnation_ + key)) * 37 + 5);
    sim_.timeline.After(DyingTime(random, !is_fenced_), [this, key] {
      if (const auto found = remains_.find(key); found != remains_.end()) EndDescendant(found->second);
    });
  }
  processes_.NoteHang(remains.order.place);  // the process makes no steps, and its end may stay unknown
  ReportRemains(key, remains);
  sim_.timeline.After(kLooksAgainAfter, [this, key] { Sweep(key); });
}

// Usually all descendants are gone after two looks: then one report is enough.
void Keeper::ReportRemains(Key key, Remains& remains) {
  const absl::Duration age = sim_.timeline.monotonic() - remains.died;
  if (age < kLooksAgainAfter) return;
  Random random((sim_.parameters.seed ^ (incarnation_ + key)) * 41 + 3);
  if (!std::exchange(remains.is_reported, true)) {
    agent::ProcessHasEnded ended = EndedOf(remains.order, remains.death, remains.was_stopped);
    ended.age = age;
    ended.leaves_some = true;
    ReportLater(std::move(ended), random.UpTo(absl::Milliseconds(20)));
  }
  if (age >= kNamedAfter && remains.is_killed && !std::exchange(remains.is_named, true)) {
    ReportLater(agent::ProcessIsStuck{remains.order.key(), 9000 + key, "python3", "D", age},
                random.UpTo(absl::Milliseconds(20)));
  }
}

void Keeper::EndDescendant(Remains& remains) {
  if (std::exchange(remains.is_gone, true)) return;
  processes_.EndDescendant(remains.order.place);
  sim_.Trace("the descendant of process ", remains.order.place.Text(), " ends");
}

void Keeper::EndByItself(Key key, ExitStatus death) {
  const auto it = running_.find(key);
  if (it != running_.end() && it->second.hangs_from.is_never()) End(key, death);
}

void Keeper::HangOne(Random& random) {
  std::vector<Key> keys;
  for (const auto& [key, process] : running_) {
    // A process that never writes is not watched.
    if (!process.is_stopping && process.hangs_from.is_never() && process.step_taken > 0) keys.push_back(key);
  }
  if (keys.empty()) return;
  Process& process = running_[random.Pick(keys)];
  process.hangs_from = sim_.timeline.monotonic();
  processes_.NoteHang(process.order.place);
  sim_.Trace("fault: process ", process.order.place.Text(), " hangs");
}

std::vector<agent::ProgressMade> Keeper::TakeProgress() {
  std::vector<agent::ProgressMade> made;
  for (auto& [key, process] : running_) {
    const absl::Duration worked = std::min(sim_.timeline.monotonic(), process.hangs_from) - process.started;
    const auto step = static_cast<uint64_t>(worked / process.per_step);
    if (step == std::exchange(process.step_taken, step)) continue;
    const Order& order = process.order;
    made.push_back({{order.slot, order.place.round, order.attempt}, step});
  }
  return made;
}

void Keeper::EndLeaders() {
  while (!running_.empty()) End(running_.begin()->first, {0, kKill});
}

void Keeper::EndAll() {
  EndLeaders();
  for (auto& [key, remains] : remains_) remains.is_gone = true;
  processes_.EndDescendantsOf(incarnation_);
}

void Keeper::AgentDied(std::function<void()> send_last_report) {
  if (!is_alive_) return EndAll();
  is_quiet_ = true;
  sim_.timeline.After(random_.UpTo(absl::Seconds(1)), [this, send_last_report = std::move(send_last_report)] {
    if (!is_alive_) return;
    is_ending_ = true;
    EndLeaders();
    SendLastReport(send_last_report);
  });
}

// Sends the last report when no process is left.
void Keeper::SendLastReport(std::function<void()> send_last_report) {
  if (!is_alive_) return;
  if (!remains_.empty()) {
    sim_.timeline.After(kLooksAgainAfter,
                        [this, send_last_report = std::move(send_last_report)] { SendLastReport(send_last_report); });
    return;
  }
  is_alive_ = false;
  sim_.timeline.After(random_.UpTo(absl::Milliseconds(500)), std::move(send_last_report));
}

void Keeper::AgentEnded(std::function<void()> send_last_report) {
  if (remains_.empty() || !is_alive_) return Vanish();
  is_quiet_ = is_ending_ = true;
  EndLeaders();
  SendLastReport(std::move(send_last_report));
}

void Keeper::Vanish() {
  is_quiet_ = true;
  is_alive_ = false;
  EndAll();
}

void Keeper::Die() {
  if (!is_alive_) return;
  is_alive_ = false;
  const bool was_quiet = is_quiet_;
  is_quiet_ = true;
  EndAll();
  // The agent takes these processes for killed, since the keeper did not report their end.
  for (const PlaceName& place : ordered_) processes_.End(place, {0, kKill}, false);
  for (const auto& [key, remains] : remains_) {
    if (!remains.is_reported) processes_.End(remains.order.place, {0, kKill}, false);
  }
  is_quiet_ = was_quiet;
  ReportLater(agent::KeeperDied{});
}

void Keeper::DieWithAgent(bool is_guarded) {
  is_quiet_ = true;
  is_ending_ = true;
  EndLeaders();
  if (!is_guarded || !is_alive_) {
    is_alive_ = false;
    return;
  }
  Random random(sim_.parameters.seed ^ incarnation_);
  sim_.timeline.After(random.UpTo(absl::Seconds(1)), [this] { Vanish(); });
}

void Keeper::EndOrphans() {
  if (!is_alive_) EndAll();
}

void Keeper::GoBlind(absl::Duration length) { sees_from_ = std::max(sees_from_, sim_.timeline.monotonic() + length); }

void Keeper::RunOutOfDescriptors(absl::Duration length) {
  GoBlind(length);
  starts_from_ = std::max(starts_from_, sim_.timeline.monotonic() + length);
}

}  // namespace muster::sim
