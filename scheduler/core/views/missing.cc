// The missing nodes of a run, and the source of their names. A run that has ended misses no node.
//
//   the missing node                                               the source of its name
//   a node of the run that is disconnected or lost                 the run's nodes
//   while forming: a node that was lost or has left                the run's list of gone nodes
//   while forming, if node ids are numbers with one rank each:     the numbers that no node has as its id
//     a node that has not joined
//   while forming: a node of the job's former run                  that run's peer list, if nodes are still missing
//   other nodes that the settings ask for                          none: only their number is known
#include <set>

#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"
#include "common/net/peer_node.h"
#include "scheduler/core/places/waiting.h"
#include "scheduler/core/views/views.h"

namespace muster::scheduler {
namespace {

constexpr int kMaxNamed = 1000;

class MissingList {
 public:
  MissingList(const Run& run, MonotonicTime now, v1::MissingNodes& out) : run_(run), now_(now), out_(out) {}

  void AddMembers() {
    for (const auto& [id, node] : run_.nodes) {
      if (node.record().is_spare || (node.stream != 0 && !node.record().is_lost)) continue;
      v1::MissingNode* missing = Add(id);
      if (missing == nullptr) continue;
      const v1::NodeInfo& info = node.record().info;
      missing->set_host_name(info.host_name());
      missing->set_address(info.address());
      missing->set_role(info.role());
      missing->set_slots(static_cast<uint32_t>(info.slots_size()));
      for (const uint32_t rank : RanksOf(node)) missing->add_ranks(rank);
      SetSeen(*missing, node.was_seen, node.last_seen);
      missing->set_why(node.record().is_lost ? absl::StrCat("lost: ", node.record().lost_reason)
                                             : "its connection is gone");
    }
  }

  void AddGone() {
    for (const auto& [id, gone] : run_.record().gone) {
      if (gone.why != v1::NodeRemoved::LOST && gone.why != v1::NodeRemoved::LEFT) continue;
      v1::MissingNode* missing = Add(id);
      if (missing == nullptr) continue;
      missing->set_host_name(gone.host_name);
      missing->set_address(gone.address);
      missing->set_role(gone.role);
      const auto [was_seen, last_seen] = run_.RuntimeOfGone(id);
      SetSeen(*missing, was_seen, last_seen);
      missing->set_why(absl::StrCat(gone.why == v1::NodeRemoved::LOST ? "lost: " : "has left: ", gone.reason));
    }
  }

  // Adds nodes of a run in which each node is one worker, with its rank as its id.
  void AddNumbers(const std::vector<uint32_t>& ids) {
    for (const uint32_t id : ids) {
      v1::MissingNode* missing = Add(absl::StrCat(id));
      if (missing == nullptr) continue;
      missing->set_role(v1::ROLE_WORKER);
      missing->set_slots(1);
      missing->set_last_seen_ms(-1);
      missing->set_why("has not joined yet");
    }
  }

  void AddFormer(const Run& former) {
    for (const v1::PeerNode& peer : former.record().peers.nodes()) {
      v1::MissingNode* missing = Add(peer.node_id());
      if (missing == nullptr) continue;
      missing->set_host_name(peer.host_name());
      if (const auto address = IpAddress::FromBytes(peer.address())) missing->set_address(address->ToString());
      missing->set_role(peer.role());
      missing->set_slots(static_cast<uint32_t>(SlotCount(peer)));
      missing->set_last_seen_ms(-1);
      missing->set_why(absl::StrCat("was in run ", former.record().number, ", and has not joined yet"));
    }
  }

  uint32_t SlotsOf(v1::Role role) const {
    uint32_t slots = 0;
    for (const v1::MissingNode& node : out_.nodes()) slots += node.role() == role ? node.slots() : 0;
    return slots;
  }

 private:
  // Adds an entry for the node. Returns null if the node is connected or in the list already, or if the list is full.
  v1::MissingNode* Add(const std::string& id) {
    const Node* here = run_.nodes.Find(id);
    if (here != nullptr && here->stream != 0 && !here->record().is_lost) return nullptr;
    if (out_.nodes_size() == kMaxNamed || !named_.insert(id).second) return nullptr;
    v1::MissingNode* missing = out_.add_nodes();
    missing->set_node_id(id);
    return missing;
  }

  void SetSeen(v1::MissingNode& missing, bool was_seen, MonotonicTime when) const {
    missing.set_last_seen_ms(was_seen ? absl::ToInt64Milliseconds(now_ - when) : -1);
  }

  const Run& run_;
  const MonotonicTime now_;
  v1::MissingNodes& out_;
  std::set<std::string> named_;
};

// Returns the last run before this one that had ranks; null if there is none, or if it is forgotten.
const Run* FormerRun(const State& state, const Run& run) {
  const auto job = state.jobs.find(run.record().job_id);
  if (job == state.jobs.end()) return nullptr;
  for (auto it = job->second.runs.rbegin(); it != job->second.runs.rend(); ++it) {
    if (it->first < run.record().number && it->second.record().peers.nodes_size() > 0) return &it->second;
  }
  return nullptr;
}

uint32_t Beyond(uint32_t needed, uint32_t here, uint32_t named) {
  return needed > here + named ? needed - here - named : 0;
}

}  // namespace

v1::MissingNodes MissingOf(const Context& context, const Run& run) {
  v1::MissingNodes missing;
  context.refusals.AddTo(run.record().job_id, context.now.monotonic, missing);
  if (run.HasEnded()) return missing;
  const bool is_forming = run.record().phase == v1::RUN_PHASE_FORMING;
  MissingList list(run, context.now.monotonic, missing);
  list.AddMembers();
  if (!is_forming && run.record().phase != v1::RUN_PHASE_RECOVERING) return missing;
  const v1::WaitStatus& waiting = WaitStatusOf(context.state, run, context.now.monotonic);
  *missing.mutable_waiting() = waiting;
  if (!is_forming) return missing;
  list.AddGone();
  list.AddNumbers(MissingNumbers(run));
  const Run* former = FormerRun(context.state, run);
  const auto workers = [&] {
    return Beyond(waiting.workers_needed(), waiting.workers_here(), list.SlotsOf(v1::ROLE_WORKER));
  };
  const auto servers = [&] {
    return Beyond(waiting.servers_needed(), waiting.servers_here(), list.SlotsOf(v1::ROLE_SERVER));
  };
  if (former != nullptr && workers() + servers() > 0) list.AddFormer(*former);
  missing.set_workers_unnamed(workers());
  missing.set_servers_unnamed(servers());
  return missing;
}

}  // namespace muster::scheduler
