#include "scheduler/core/views/views.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "scheduler/core/facts/progress.h"
#include "scheduler/core/places/standing_in.h"
#include "scheduler/core/places/waiting.h"
#include "scheduler/core/views/job_map.h"
#include "scheduler/core/views/overview.h"

namespace muster::scheduler {
namespace {

constexpr uint32_t kMaxHosts = 32;  // the number of nodes with host facts and findings that fits into one answer

template <typename Request>
uint32_t Limit(const Request& request, uint32_t most) {
  return request.limit() == 0 ? most : std::min(request.limit(), most);
}

int64_t AgeMs(bool was_seen, MonotonicTime when, MonotonicTime now) {
  return was_seen ? absl::ToInt64Milliseconds(now - when) : -1;
}

// Returns a number that distinguishes one start of a node from another. People must not see the incarnation itself: a
// client that knows it could act as the agent.
uint64_t Fingerprint(uint64_t incarnation) {
  const std::string digest = Sha256({reinterpret_cast<const char*>(&incarnation), sizeof(incarnation)});
  uint64_t fingerprint = 0;
  std::memcpy(&fingerprint, digest.data(), sizeof(fingerprint));
  return fingerprint;
}

v1::NodeStatus NodeView(const Node& node, MonotonicTime now, bool with_hosts) {
  v1::NodeStatus status;
  status.set_node_id(node.record().id);
  status.set_note(node.stuck.empty()
                      ? node.record().lost_reason
                      : absl::StrCat(node.record().lost_reason, node.record().lost_reason.empty() ? "" : "; ",
                                     DescribeStuck(node, now)));
  status.set_draining(node.record().draining_reason);
  status.set_state(NodeStateName(node));
  status.set_role(node.record().info.role());
  status.set_host_name(node.record().info.host_name());
  status.set_machine_id(node.record().info.machine_id());
  status.set_address(node.record().info.address());
  status.set_slots(static_cast<uint32_t>(node.record().info.slots_size()));
  for (const uint32_t rank : RanksOf(node)) status.add_ranks(rank);
  status.set_last_seen_ms(AgeMs(node.was_seen, node.last_seen, now));
  status.set_is_spare(node.record().is_spare);
  status.set_incarnation(Fingerprint(node.record().incarnation));
  status.set_pid(node.record().info.pid());
  status.set_version(node.record().info.version());
  if (!with_hosts) return status;
  *status.mutable_host_facts() = node.record().info.host_facts();
  *status.mutable_host_findings() = node.record().info.host_findings();
  return status;
}

v1::NodeStatus GoneView(const std::string& id, const GoneNode& gone, const GoneNodeRuntime& runtime,
                        MonotonicTime now) {
  v1::NodeStatus status;
  status.set_node_id(id);
  status.set_state(gone.why == v1::NodeRemoved::LEFT      ? "left"
                   : gone.why == v1::NodeRemoved::LOST    ? "lost"
                   : gone.why == v1::NodeRemoved::DRAINED ? "drained"
                                                          : "replaced");
  status.set_role(gone.role);
  status.set_host_name(gone.host_name);
  status.set_address(gone.address);
  status.set_last_seen_ms(AgeMs(runtime.was_seen, runtime.last_seen, now));
  status.set_incarnation(Fingerprint(gone.incarnation));
  status.set_note(gone.reason);
  return status;
}

// Returns the run; null if there is none. Run 0 means the latest run. An empty job id means the only job, if there is
// only one.
const Run* ResolveRun(const State& state, const std::string& job_id, uint64_t run) {
  auto job = state.jobs.find(job_id);
  if (job_id.empty() && state.jobs.size() == 1) job = state.jobs.begin();
  if (job == state.jobs.end() || job->second.runs.empty()) return nullptr;
  if (run == 0) return &job->second.runs.rbegin()->second;
  const auto it = job->second.runs.find(run);
  return it == job->second.runs.end() ? nullptr : &it->second;
}

v1::RunStatus RunView(const Context& context, const Run& run) {
  const MonotonicTime now = context.now.monotonic;
  v1::RunStatus status;
  SetHead(status, run);
  status.set_phase(run.record().phase);
  status.set_round(run.record().round);
  *status.mutable_settings() = run.record().settings;
  uint32_t here = 0, away = 0, spares = 0, running = 0, done = 0;
  for (const auto& [id, node] : run.nodes) {
    if (node.stream == 0 && node.is_settled) continue;  // the node got the outcome and has gone
    ++(node.stream != 0 ? here : away);
    spares += node.record().is_spare && node.stream != 0 ? 1 : 0;
    for (const SlotState& slot : node.record().slots) {
      running += slot.phase == SlotState::Phase::kRunning ? 1 : 0;
      done += slot.phase == SlotState::Phase::kDone ? 1 : 0;
    }
  }
  status.set_nodes_here(here);
  status.set_nodes_disconnected(away);
  status.set_spares(spares);
  status.set_processes_running(running);
  status.set_processes_done(done);
  // A process that can't be killed delays its own restart, or the end of the job, so people must see it.
  const bool is_held_up = !run.HasEnded() && !DescribeStuck(run, now).empty();
  if (IsWaiting(run) || is_held_up) *status.mutable_waiting() = WaitStatusOf(context.state, run, now);
  status.set_silent_nodes(DescribeSilent(context, run));
  status.set_halted(DescribeHalted(run, now));
  if (run.HasEnded()) *status.mutable_outcome() = run.record().outcome;
  status.set_opened_unix_ms(run.record().opened_unix_ms);
  status.set_age_ms(absl::ToInt64Milliseconds(now - run.opened));
  status.set_opened_by(run.record().opened_by);
  status.set_restart_count(run.record().restart_count);
  if (run.record().last_abort) {
    *status.mutable_last_abort() = *run.record().last_abort;
    if (std::string remedy = DescribeRemedy(run, now); !remedy.empty()) status.mutable_last_abort()->set_remedy(remedy);
  }
  const std::vector<Watched> watched = WatchedProcesses(run);
  if (!watched.empty()) *status.mutable_progress() = ProgressView(watched, now);
  if (run.stall && run.record().phase == v1::RUN_PHASE_RUNNING) *status.mutable_stall() = *run.stall;
  if (run.lacks_progress && IsUnwatched(run)) status.set_not_watched(DescribeUnwatched(run));
  return status;
}

v1::StatusReply View(const Context& context, const v1::StatusRequest& request) {
  v1::StatusReply reply;
  reply.set_cluster_id(context.state.record().cluster_id);
  reply.set_term(context.state.record().term);
  reply.set_version(context.options.version);
  reply.set_up_ms(absl::ToInt64Milliseconds(context.now.monotonic - context.started.monotonic));
  reply.set_is_draining(context.is_draining);
  reply.set_now_unix_ms(context.now.wall.unix_ms);
  for (const auto& [job_id, job] : context.state.jobs) {
    if (!request.job_id().empty() && request.job_id() != job_id) continue;
    for (const auto& [number, run] : job.runs) {
      const bool is_latest = number == job.runs.rbegin()->first;
      if (request.run() == 0 ? is_latest || !run.HasEnded() : number == request.run())
        *reply.add_runs() = RunView(context, run);
    }
  }
  return reply;
}

v1::NodesReply View(const Context& context, const v1::NodesRequest& request) {
  v1::NodesReply reply;
  const Run& run = *ResolveRun(context.state, request.job_id(), request.run());
  reply.set_run(run.record().number);
  reply.set_total(static_cast<uint32_t>(run.nodes.size() + run.record().gone.size()));
  const uint32_t limit = request.with_hosts() ? std::min(Limit(request, kMaxHosts), kMaxHosts) : Limit(request, 1000);
  uint32_t at = 0;
  const auto wanted = [&] { return at++ >= request.offset() && static_cast<uint32_t>(reply.nodes_size()) < limit; };
  for (const auto& [id, node] : run.nodes) {
    if (wanted()) *reply.add_nodes() = NodeView(node, context.now.monotonic, request.with_hosts());
  }
  for (const auto& [id, gone] : run.record().gone) {
    if (wanted()) *reply.add_nodes() = GoneView(id, gone, run.RuntimeOfGone(id), context.now.monotonic);
  }
  if (request.with_missing()) *reply.mutable_missing() = MissingOf(context, run);
  return reply;
}

// The place of one rank in the round's peer list.
struct RankPlace {
  v1::Role role = v1::ROLE_UNSPECIFIED;
  uint32_t rank = 0;
  const v1::PeerNode* peer = nullptr;
  int slot = 0;
};

v1::RankStatus RankView(const Run& run, const RankPlace& place, MonotonicTime now) {
  const v1::PeerNode& peer = *place.peer;
  const int i = place.slot;
  v1::RankStatus rank;
  rank.set_rank(place.rank);
  rank.set_role(place.role);
  rank.set_node_id(peer.node_id());
  rank.set_host_name(peer.host_name());
  if (const auto address = IpAddress::FromBytes(peer.address())) rank.set_address(address->ToString());
  rank.set_local_rank(LocalRankOf(peer, i));
  rank.set_node_rank(peer.machine());
  rank.set_ring_port(peer.ring_ports(i));
  rank.set_device_id(DeviceIdOf(peer, i));
  rank.set_device_address(DeviceAddressOf(peer, i));
  rank.set_super_pod(peer.super_pod());
  rank.set_super_device_id(SuperDeviceIdOf(peer, i));
  const Node* node = run.nodes.Find(peer.node_id());
  if (node == nullptr || i >= static_cast<int>(node->record().slots.size())) {
    rank.set_state("gone");
    return rank;
  }
  rank.set_state(SlotPhaseName(node->record().slots[i].phase));
  rank.set_pid(node->record().slots[i].pid);
  if (const ProcessProgress* progress = ProgressOf(run, *node, i)) {
    if (progress->step) rank.set_step(*progress->step);
    rank.set_since_progress_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(now - progress->changed)));
    if (progress->steps_per_second > 0) rank.set_steps_per_second(progress->steps_per_second);
  }
  if (const ProcessActivity* activity = ActivityOf(run, *node, i)) {
    if (activity->last_output) {
      rank.set_since_output_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(now - *activity->last_output)));
    }
    if (activity->cpu_percent) rank.set_cpu_percent(*activity->cpu_percent);
    rank.set_process_state(activity->state);
  }
  return rank;
}

// Makes messages only for the ranks of the requested page, so that a page of a large job takes little time.
v1::RanksReply View(const Context& context, const v1::RanksRequest& request) {
  v1::RanksReply reply;
  const Run& run = *ResolveRun(context.state, request.job_id(), request.run());
  reply.set_run(run.record().number);
  reply.set_round(run.record().round);
  reply.set_master_address(run.record().master_address);
  reply.set_master_port(run.record().master_port);
  std::vector<RankPlace> all;
  for (const v1::PeerNode& peer : run.record().peers.nodes()) {
    for (int i = 0; i < SlotCount(peer); ++i) all.push_back({peer.role(), RankOf(peer, i), &peer, i});
  }
  const auto is_before = [](const RankPlace& a, const RankPlace& b) {
    return std::make_pair(a.role, a.rank) < std::make_pair(b.role, b.rank);
  };
  if (!std::is_sorted(all.begin(), all.end(), is_before)) std::sort(all.begin(), all.end(), is_before);
  reply.set_total(static_cast<uint32_t>(all.size()));
  const size_t end = std::min<size_t>(all.size(), size_t{request.offset()} + Limit(request, 10'000));
  for (size_t i = request.offset(); i < end; ++i) *reply.add_ranks() = RankView(run, all[i], context.now.monotonic);
  return reply;
}

v1::EventsReply View(const Context& context, const v1::EventsRequest& request) {
  v1::EventsReply reply;
  const uint32_t limit = Limit(request, 1000);
  for (const auto& event : context.state.record().event_log) {
    if (event->number() <= request.after()) continue;
    if (!request.job_id().empty() && event->job_id() != request.job_id()) continue;
    if (static_cast<uint32_t>(reply.events_size()) >= limit) break;
    *reply.add_events() = *event;
  }
  return reply;
}

}  // namespace

const char* NodeStateName(const Node& node) {
  if (node.record().is_lost) return "lost";
  if (node.is_settled) return "settled";
  return node.stream != 0 ? "connected" : "disconnected";
}

Run* FindNamed(State& state, const std::string& job_id, uint64_t run) {
  if (run != 0) return state.FindRun(job_id, run);
  const auto job = state.jobs.find(job_id);
  return job == state.jobs.end() ? nullptr : job->second.current();
}

absl::Status NoSuchRun(const std::string& job_id, uint64_t run) {
  return absl::NotFoundError(absl::StrCat("there is no job ", job_id, run == 0 ? "" : absl::StrCat(" with run ", run),
                                          " here; `ms-ctl status` lists the jobs"));
}

absl::Status NoSuchNode(const Run& run, const std::string& node_id) {
  return absl::NotFoundError(absl::StrCat("there is no node ", node_id, " in run ", run.record().number, " of job ",
                                          run.record().job_id, "; `ms-ctl nodes` lists them"));
}

Answer AnswerQuery(const Context& context, const QueryReceived& event) {
  Answer answer{event.query, absl::OkStatus(), v1::StatusReply()};
  std::visit(
      [&](const auto& request) {
        using Request = std::decay_t<decltype(request)>;
        if constexpr (std::is_same_v<Request, MapRequest>) {
          const Run* run = ResolveRun(context.state, request.job, request.run);
          if (run == nullptr) {
            answer.status = NoSuchRun(request.job, request.run);
          } else {
            answer.reply = MapOf(*run, request.with_names);
          }
          return;
        }
        if constexpr (std::is_same_v<Request, v1::NodesRequest> || std::is_same_v<Request, v1::RanksRequest>) {
          if (ResolveRun(context.state, request.job_id(), request.run()) == nullptr) {
            answer.status = !request.job_id().empty() ? NoSuchRun(request.job_id(), request.run())
                            : context.state.jobs.empty()
                                ? absl::NotFoundError("this scheduler has no job yet")
                                : absl::NotFoundError("there are several jobs: name one with --job");
            return;
          }
        }
        if constexpr (std::is_same_v<Request, OverviewRequest>) {
          answer.reply = OverviewOf(context);
        } else if constexpr (!std::is_same_v<Request, MapRequest>) {
          answer.reply = View(context, request);
        }
      },
      event.request);
  return answer;
}

}  // namespace muster::scheduler
