#include "tests/sim/parameters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/sim/random.h"

namespace muster::sim {
namespace {

enum class Ids { kNumeric, kNamed, kAssigned };

absl::Duration Seconds(Random& random, int64_t low, int64_t high) {
  return random.Between(absl::Seconds(low), absl::Seconds(high));
}

void DrawSettings(Random& random, Parameters& p) {
  scheduler::CoreOptions& options = p.scheduler;
  options.version = "simulated";
  options.lease = Seconds(random, 4, 40);
  options.disconnect_grace = random.Between(absl::Milliseconds(500), std::min(options.lease, absl::Seconds(15)));
  options.stop_timeout = Seconds(random, 1, 15);
  options.topo_timeout = Seconds(random, 15, 45);
  if (random.Chance(0.5)) options.rejoin_timeout = Seconds(random, 5, 45);
  if (random.Chance(0.3)) options.heartbeat_interval = random.Between(absl::Milliseconds(300), options.lease / 3);
  // With a shorter time, the processes would be stopped before the first missed heartbeat.
  if (random.Chance(0.25)) options.fence_timeout = options.stop_timeout + absl::Seconds(5) + Seconds(random, 15, 60);
  p.is_calm = random.Chance(0.1);
  p.is_persistent = random.Chance(0.4);
}

// A kind of fault strikes in a third of the runs. If it always struck, it would hide cases that need another kind.
int Times(Random& random, int most) { return random.Chance(0.35) ? static_cast<int>(random.Int(1, most)) : 0; }
double Rate(Random& random, double most) { return random.Chance(0.35) ? random.Fraction() * most : 0; }

FaultPlan DrawFaults(Random& random) {
  FaultPlan f;
  f.stream_breaks = Times(random, 12);
  f.partitions = Times(random, 6);
  f.agent_kills = Times(random, 4);
  f.agent_hangs = Times(random, 5);
  f.keeper_kills = Times(random, 3);
  f.machine_crashes = Times(random, 3);
  f.end_signals = Times(random, 3);
  f.scheduler_pauses = Times(random, 4);
  f.scheduler_restarts = Times(random, 2);
  f.stop_requests = Times(random, 2);
  f.dial_loss = Rate(random, 0.3);
  f.dial_delay = Rate(random, 0.4);
  f.dial_duplicate = Rate(random, 0.3);
  f.call_loss = Rate(random, 0.4);
  f.launch_failure = Rate(random, 0.05);
  f.slow_disk = Rate(random, 0.1);
  return f;
}

class JobDrawer {
 public:
  JobDrawer(Random& random, Parameters& parameters, int nodes_max)
      : random_(random), p_(parameters), nodes_max_(nodes_max) {}

  JobSpec Draw(const std::string& id, bool is_only) {
    job_.id = id;
    ids_ = static_cast<Ids>(random_.Int(0, 2));
    nodes_on_a_machine_ = random_.Chance(0.3) ? static_cast<int>(random_.Int(2, 4)) : 1;
    has_node_ranks_ = nodes_on_a_machine_ == 1 && random_.Chance(0.1);
    spread_ = random_.Chance(0.5) ? absl::Seconds(1) : Seconds(random_, 2, p_.is_calm ? 8 : 40);
    const int servers = random_.Chance(0.2) ? static_cast<int>(random_.Int(1, 2)) : 0;
    const int workers = static_cast<int>(random_.Int(3, nodes_max_)) - servers;
    const bool mixed = random_.Chance(0.3);
    const int most_slots = random_.Chance(0.5) ? 1 : static_cast<int>(random_.Int(2, 4));
    const int same_slots = static_cast<int>(random_.Int(1, most_slots));
    uint32_t worker_num = 0;
    for (int i = 0; i < std::max(workers, 1); ++i) {
      const int slots = mixed ? static_cast<int>(random_.Int(1, most_slots)) : same_slots;
      worker_num += static_cast<uint32_t>(slots);
      job_.nodes.push_back(DrawNode(v1::ROLE_WORKER, slots));
    }
    for (int i = 0; i < servers; ++i) job_.nodes.push_back(DrawNode(v1::ROLE_SERVER, 1));
    AddSurplus(same_slots);
    GiveSettings(worker_num, static_cast<uint32_t>(servers), is_only);
    if (!p_.is_calm) MakeTrouble(worker_num);
    DrawLife();
    return std::move(job_);
  }

 private:
  NodeSpec DrawNode(v1::Role role, int slots) {
    NodeSpec node;
    const size_t number = next_id_++;
    if (on_machine_ == 0) {
      AddMachine();
      on_machine_ = nodes_on_a_machine_;
    }
    --on_machine_;
    node.machine = p_.machines.size() - 1;
    const MachineSpec& machine = p_.machines[node.machine];
    if (ids_ == Ids::kNumeric) node.node_id = absl::StrCat(number);
    if (ids_ == Ids::kNamed) node.node_id = absl::StrCat(job_.id, "-n", number);
    node.info.set_role(role);
    node.info.set_host_name(machine.host_name);
    node.info.set_machine_id(machine.machine_id);
    if (random_.Chance(0.5)) node.info.set_address(machine.address);
    for (int i = 0; i < slots; ++i) node.info.add_slots()->set_ring_port(static_cast<uint32_t>(30'000 + i));
    node.info.set_master_port(static_cast<uint32_t>(20'000 + number));
    node.info.set_user("user");
    node.info.set_pid(100 + number);
    node.info.set_version("simulated");
    node.info.set_is_fence_guarded(true);
    if (has_node_ranks_) node.info.set_node_rank(static_cast<uint32_t>(number));
    node.start_delay = random_.UpTo(spread_);
    return node;
  }

  void AddMachine() {
    const size_t number = p_.machines.size();
    MachineSpec machine;
    machine.host_name = random_.Chance(0.1) ? "twin" : absl::StrCat("host", number);
    machine.machine_id = absl::StrCat("machine", number);
    machine.address = absl::StrCat("10.0.", number / 200, ".", number % 200 + 1);
    machine.latency = random_.Between(absl::Microseconds(50), absl::Milliseconds(random_.Chance(0.1) ? 200 : 5));
    machine.jitter = random_.UpTo(absl::Milliseconds(random_.Chance(0.1) ? 500 : 3));
    machine.clock_offset = Seconds(random_, 0, 1'000'000);
    p_.machines.push_back(machine);
  }

  void AddSurplus(int slots) {
    if (random_.Chance(0.25)) {
      for (int64_t i = random_.Int(1, 2); i > 0; --i) {
        NodeSpec spare = DrawNode(v1::ROLE_WORKER, slots);
        spare.info.set_spare(true);
        spare.is_surplus = true;
        job_.nodes.push_back(std::move(spare));
      }
    }
    if (!random_.Chance(0.2)) return;
    NodeSpec extra = DrawNode(v1::ROLE_WORKER, slots);
    extra.is_surplus = true;
    if (p_.is_calm) extra.start_delay = spread_ + absl::Seconds(20);  // it must not take a member's place
    job_.nodes.push_back(std::move(extra));
  }

  void GiveSettings(uint32_t worker_num, uint32_t server_num, bool is_only) {
    v1::JobSettings settings;
    settings.set_worker_num(worker_num);
    if (server_num > 0 || random_.Chance(0.3)) settings.set_server_num(server_num);
    if (random_.Chance(0.2)) settings.set_topo_timeout_ms(absl::ToInt64Milliseconds(p_.scheduler.topo_timeout));
    if (ids_ == Ids::kNamed && random_.Chance(0.2)) settings.set_hccl_cm_init(true);
    if (random_.Chance(0.5)) {
      settings.set_enable_recovery(true);
      if (random_.Chance(0.7)) settings.set_max_restarts(static_cast<uint32_t>(random_.Int(0, 4)));
      if (random_.Chance(0.2)) settings.set_restart_scope("worker");
    }
    job_.recovers = settings.enable_recovery();
    if (is_only && random_.Chance(0.5)) p_.scheduler.own.rules = settings;
    const bool is_said_by_all = p_.scheduler.own.rules.worker_num() == 0 || random_.Chance(0.5);
    for (NodeSpec& node : job_.nodes) {
      if (is_said_by_all || random_.Chance(0.5)) node.settings = settings;
    }
  }

  // Adds the mistakes that users make.
  void MakeTrouble(uint32_t worker_num) {
    if (random_.Chance(0.12) && ids_ != Ids::kAssigned) {
      NodeSpec twin = random_.Pick(job_.nodes);
      NodeSpec place = DrawNode(twin.info.role(), 1);
      twin.machine = place.machine;
      twin.info.set_host_name(place.info.host_name());
      twin.info.set_machine_id(place.info.machine_id());
      twin.info.set_address(place.info.address());
      twin.start_delay = random_.UpTo(spread_ * 2);
      twin.is_surplus = true;
      job_.nodes.push_back(std::move(twin));
    }
    if (random_.Chance(0.08)) {
      NodeSpec other = DrawNode(v1::ROLE_WORKER, 1);
      other.settings.set_worker_num(worker_num + 1);
      other.is_surplus = true;
      job_.nodes.push_back(std::move(other));
      job_.is_complete = false;  // this node may come first
    }
    if (random_.Chance(0.08)) {
      job_.nodes.erase(job_.nodes.begin());
      job_.is_complete = false;
    }
  }

  void DrawLife() {
    job_.has_command = !random_.Chance(0.05);
    if (!job_.has_command) {
      for (NodeSpec& node : job_.nodes) node.info.set_is_processless(true);
    }
    job_.longest_run = random_.Chance(0.2) ? random_.UpTo(absl::Seconds(2)) : Seconds(random_, 5, 80);
    job_.retry_num = static_cast<uint32_t>(random_.Int(5, 20));
    if (job_.recovers) job_.longest_run = std::min(job_.longest_run, absl::Seconds(30));  // it may need five rounds
    if (p_.is_calm) return;
    job_.process_failure = random_.Chance(0.5) ? 0 : random_.Fraction() * 0.1;
    job_.restart_node = random_.Chance(0.5) ? 0 : random_.Fraction() * 0.6;
    if (job_.recovers && random_.Chance(0.7)) job_.restart_node = 0.9;
    job_.restart_job = random_.Chance(0.3) ? 0 : 0.8;
  }

  Random& random_;
  Parameters& p_;
  const int nodes_max_;
  JobSpec job_;
  Ids ids_ = Ids::kNumeric;
  int nodes_on_a_machine_ = 1;
  int on_machine_ = 0;
  size_t next_id_ = 0;
  bool has_node_ranks_ = false;
  absl::Duration spread_;
};

// A run that has begun when the faults end must be able to end within the remaining time.
absl::Duration FaultsEnd(const Parameters& p) {
  absl::Duration longest;
  absl::Duration patience;
  for (const JobSpec& job : p.jobs) {
    longest = std::max(longest, job.longest_run * (job.recovers ? 5 : 1));
    patience = std::max<absl::Duration>(patience, job.retry_num * absl::Seconds(3));
  }
  const absl::Duration needed =
      p.scheduler.topo_timeout * 2 + p.scheduler.rejoin_timeout.value_or(p.scheduler.topo_timeout) + longest +
      patience + 3 * p.scheduler.lease + 3 * p.scheduler.stop_timeout + p.scheduler.disconnect_grace +
      absl::Milliseconds(p.scheduler.own.rules.progress_timeout_ms() + p.scheduler.own.defaults.progress_timeout_ms()) +
      absl::Seconds(45);
  return std::min(p.length - needed, absl::Seconds(400));
}

// Draws what was added to the simulation later, from a source of its own, so that the rest of a seed stays the same.
void DrawLater(Random random, Parameters& p) {
  if (p.is_calm) return;
  if (random.Chance(0.4)) {
    p.scheduler.own.rules.set_progress_timeout_ms(static_cast<uint64_t>(1000 * random.Int(15, 40)));
    p.faults.process_hangs = static_cast<int>(random.Int(1, 3));
  }
  p.faults.steerings = Times(random, 4);
  // The scheduler's values may come from its environment.
  if (random.Chance(0.3)) p.scheduler.own.defaults.Swap(&p.scheduler.own.rules);
}

// Nodes, some of them without a guardian, lose agent and keeper together. They are rarely started again before the
// fence's time is over.
void LeaveOrphansAlone(Random& random, Parameters& p) {
  for (JobSpec& job : p.jobs) {
    job.restart_node *= 0.1;
    for (NodeSpec& node : job.nodes) node.info.set_is_fence_guarded(random.Chance(0.3));
  }
  p.faults.double_kills = static_cast<int>(random.Int(2, 6));
  p.faults.leaves_descendant = 0.9;
  p.scheduler.fence_timeout = p.scheduler.stop_timeout + absl::Seconds(5) + Seconds(random, 15, 20);
  p.scheduler.rejoin_timeout = *p.scheduler.fence_timeout + Seconds(random, 10, 40);
}

// Draws the keepers' faults, which were added last. They have a source of their own, so that the rest of a seed stays
// the same.
void DrawKeepers(Random random, Parameters& p) {
  // Without a guardian a node can't promise that its fence holds.
  if (random.Chance(0.4)) {
    for (JobSpec& job : p.jobs) {
      for (NodeSpec& node : job.nodes) node.info.set_is_fence_guarded(random.Chance(0.5));
    }
  }
  if (p.is_calm) return;
  p.faults.blind_keepers = Times(random, 4);
  p.faults.starved_keepers = Times(random, 4);
  p.faults.double_kills = Times(random, 4);
  p.faults.leaves_descendant = Rate(random, 0.6);
  if (random.Chance(0.15)) LeaveOrphansAlone(random, p);
}

}  // namespace

Parameters DrawParameters(uint64_t seed, const Limits& limits) {
  Random random(seed * 0x2545f4914f6cdd1d + 1);
  Parameters p;
  p.seed = seed;
  p.uses_datagrams = seed % 5 < 3;
  p.uses_store = seed % 7 == 0 || seed % 7 > 3;
  DrawSettings(random, p);
  const bool has_two = limits.jobs_max > 1 && random.Chance(0.25);
  p.jobs.push_back(JobDrawer(random, p, limits.nodes_max).Draw("train", !has_two));
  if (has_two) p.jobs.push_back(JobDrawer(random, p, limits.nodes_max).Draw("eval", false));
  if (!has_two && !p.is_calm && random.Chance(0.08)) {
    p.scheduler.is_once = true;
  }
  if (!p.is_calm) p.faults = DrawFaults(random);
  DrawLater(Random(seed * 0x9fb21c651e98df25 + 1), p);
  Random renewals(seed * 0xd6e8feb86659fd93 + 1);
  p.faults.renewals = Times(renewals, 8);
  if (seed % 3 == 1) DrawKeepers(Random(seed * 0xe7037ed1a0b428db + 1), p);
  Random fences(seed * 0xc2b2ae3d27d4eb4f + 1);
  p.scheduler.fence_stop_timeout = p.scheduler.stop_timeout;
  if (fences.Chance(0.5)) {
    p.scheduler.fence_stop_timeout = fences.Between(absl::Milliseconds(500), p.scheduler.stop_timeout);
  }
  p.faults_end = FaultsEnd(p);
  return p;
}

std::string Parameters::Describe() const {
  std::string text = absl::StrCat(
      "seed ", seed, ": lease ", absl::FormatDuration(scheduler.lease), ", grace ",
      absl::FormatDuration(scheduler.disconnect_grace), ", stop_timeout ", absl::FormatDuration(scheduler.stop_timeout),
      ", fence_stop_timeout ", absl::FormatDuration(scheduler.fence_stop_timeout), ", topo_timeout ",
      absl::FormatDuration(scheduler.topo_timeout), ", fence ",
      scheduler.fence_timeout ? absl::FormatDuration(*scheduler.fence_timeout) : "off",
      is_persistent ? ", disk" : ", memory", is_calm ? ", calm" : "", scheduler.is_once ? ", once" : "",
      ", faults until ", absl::FormatDuration(faults_end), ", ", machines.size(), " machines\n");
  for (const JobSpec& job : jobs) {
    absl::StrAppend(&text, "  job ", job.id, job.is_complete ? "" : " (incomplete)",
                    job.has_command ? "" : " (no command)", job.recovers ? " recovers" : "", ", runs up to ",
                    absl::FormatDuration(job.longest_run), ":");
    for (const NodeSpec& node : job.nodes) {
      absl::StrAppend(&text, " ", node.node_id.empty() ? "?" : node.node_id, "x", node.info.slots_size(),
                      node.info.role() == v1::ROLE_SERVER ? "s" : "", node.info.spare() ? "(spare)" : "",
                      node.is_surplus && !node.info.spare() ? "(surplus)" : "",
                      node.info.is_fence_guarded() ? "" : "(unguarded)", "@", node.machine);
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "  faults: breaks ", faults.stream_breaks, ", partitions ", faults.partitions,
                  ", agents killed ", faults.agent_kills, ", hung ", faults.agent_hangs, ", keepers killed ",
                  faults.keeper_kills, ", with their agents ", faults.double_kills, ", blinded ", faults.blind_keepers,
                  ", starved ", faults.starved_keepers, ", descendants left ", faults.leaves_descendant,
                  ", machines crashed ", faults.machine_crashes, ", signals ", faults.end_signals,
                  ", scheduler paused ", faults.scheduler_pauses, ", restarted ", faults.scheduler_restarts, ", stops ",
                  faults.stop_requests, ", processes hung ", faults.process_hangs, ", steered ", faults.steerings,
                  ", renewed ", faults.renewals, "\n");
  return text;
}

}  // namespace muster::sim
