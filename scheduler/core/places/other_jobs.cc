// Another run is named if all of these are true:
//
//   it has formed or recovered for 3 s, and lacks workers    a run without a problem gathers its nodes faster
//   it has a connected node                                  a job without nodes can't have this run's missing nodes
//   its user is this run's user                              only its first few nodes are compared; this run's nodes
//                                                            must all have the same user
//
// Runs that need as many workers as this run are named first: they most likely belong to the same job.
#include "scheduler/core/places/other_jobs.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/core/places/admission.h"

namespace muster::scheduler {
namespace {

constexpr size_t kMaxJobsNamed = 3;
constexpr int kMaxLookedAt = 4;  // nodes of each other run; few, because each job is compared with up to kMaxJobs
constexpr absl::Duration kUsualWait = absl::Seconds(3);

using JobUser = std::pair<std::string, std::string>;  // the identity (may be empty), and the name that the node sends

JobUser UserOf(const Node& node) { return {node.record().identity, node.record().info.user()}; }

// Returns the user of all connected nodes; nullopt if they have several users, or if the user is not known.
std::optional<JobUser> OnlyUserOf(const Run& run) {
  std::optional<JobUser> only;
  for (const auto& [id, node] : run.nodes) {
    if (node.stream == 0) continue;
    const JobUser user = UserOf(node);
    if (user == JobUser() || (only && *only != user)) return std::nullopt;
    only = user;
  }
  return only;
}

bool IsAnyOf(const Run& run, const JobUser& user) {
  int looked_at = 0;
  for (const auto& [id, node] : run.nodes) {
    if (++looked_at > kMaxLookedAt) return false;
    if (node.stream != 0 && UserOf(node) == user) return true;
  }
  return false;
}

bool LacksWorkers(const Run& run, MonotonicTime now) {
  const bool is_forming = run.record().phase == v1::RUN_PHASE_FORMING;
  if (!is_forming && run.record().phase != v1::RUN_PHASE_RECOVERING) return false;
  if (now - (is_forming ? run.opened : run.aborted) < kUsualWait) return false;
  if (run.record().lost.size() > 0) return true;
  return run.record().slot_counts.RegularSlots(v1::ROLE_WORKER) < run.record().settings.worker_num();
}

}  // namespace

std::string DescribeOtherJobs(const State& state, const Run& run, MonotonicTime now) {
  if (!LacksWorkers(run, now)) return "";
  const std::optional<JobUser> user = OnlyUserOf(run);
  if (!user) return "";
  std::vector<const Run*> others;
  for (const auto& [id, job] : state.jobs) {
    if (job.runs.empty() || id == run.record().job_id) continue;
    const Run& other = job.runs.rbegin()->second;
    if (LacksWorkers(other, now) && IsAnyOf(other, *user)) others.push_back(&other);
  }
  if (others.empty()) return "";
  std::stable_partition(others.begin(), others.end(), [&run](const Run* other) {
    return other->record().settings.worker_num() == run.record().settings.worker_num();
  });
  std::vector<std::string> names;
  for (const Run* other : others) {
    if (names.size() == kMaxJobsNamed) break;
    names.push_back(absl::StrCat(other->record().job_id, " (", CountConnectedSlots(*other, v1::ROLE_WORKER), " of ",
                                 other->record().settings.worker_num(), " workers)"));
  }
  if (others.size() > names.size()) names.push_back(absl::StrCat(others.size() - names.size(), " more"));
  const bool is_one = others.size() == 1;
  return absl::StrCat(is_one ? "another job" : "other jobs", " of the same ", user->first.empty() ? "user" : "identity",
                      is_one ? " waits, too: " : " wait, too: ", absl::StrJoin(names, ", "),
                      ": nodes that belong together need the same job id (--job_id, --rdzv_id)");
}

}  // namespace muster::scheduler
