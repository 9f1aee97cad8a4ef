// The settings that must be the same on every node of a run. A node that does not set a value agrees with any value.
//
//   source of the run's value                     what happens to a node with another value
//   a rule of the scheduler                       it is refused; the message names the flag or line
//   a node of the run                             it is refused; the message names that node
//   a default of the scheduler, or a node that    while the run forms, the node's value becomes the run's; but the node
//     has left                                      is refused if a node that has joined would have no place then.
//                                                 After the first round, the node is refused
#include "scheduler/core/places/agreed_settings.h"

#include "absl/strings/str_cat.h"
#include "scheduler/core/places/admission.h"

namespace muster::scheduler {
namespace {

using Settings = v1::JobSettings;

// One setting that is compared.
struct Compared {
  const char* name;  // as people set it
  const char* flag;  // in OwnSettings::sources
  bool (*is_set)(const Settings&);
  std::string (*value)(const Settings&);
};

std::string Text(bool value) { return value ? "1" : "0"; }

const Compared kCompared[] = {
    {"MS_WORKER_NUM", "worker_num", [](const Settings& s) { return s.has_worker_num(); },
     [](const Settings& s) { return absl::StrCat(s.worker_num()); }},
    {"MS_SERVER_NUM", "server_num", [](const Settings& s) { return s.has_server_num(); },
     [](const Settings& s) { return absl::StrCat(s.server_num()); }},
    {"MS_ENABLE_RECOVERY", "enable_recovery", [](const Settings& s) { return s.has_enable_recovery(); },
     [](const Settings& s) { return Text(s.enable_recovery()); }},
    {"max_restarts", "max_restarts", [](const Settings& s) { return s.has_max_restarts(); },
     [](const Settings& s) { return absl::StrCat(s.max_restarts()); }},
    {"restart_scope", "restart_scope", [](const Settings& s) { return s.has_restart_scope(); },
     [](const Settings& s) { return s.restart_scope(); }},
    {"progress_timeout (ms)", "progress_timeout", [](const Settings& s) { return s.has_progress_timeout_ms(); },
     [](const Settings& s) { return absl::StrCat(s.progress_timeout_ms()); }},
    {"first_progress_timeout (ms)", "first_progress_timeout",
     [](const Settings& s) { return s.has_first_progress_timeout_ms(); },
     [](const Settings& s) { return absl::StrCat(s.first_progress_timeout_ms()); }},
    {"stall_action", "stall_action", [](const Settings& s) { return s.has_stall_action(); },
     [](const Settings& s) { return s.stall_action(); }},
    {"preflight", "preflight", [](const Settings& s) { return s.has_preflight(); },
     [](const Settings& s) { return s.preflight(); }},
    {"MS_HCCL_CM_INIT", "hccl_cm_init", [](const Settings& s) { return s.has_hccl_cm_init(); },
     [](const Settings& s) { return Text(s.hccl_cm_init()); }},
    {"RANK_TABLE_FILE (SHA-256)", "rank_table_file", [](const Settings& s) { return s.has_rank_table_digest(); },
     [](const Settings& s) { return s.rank_table_digest(); }},
};

// Adds to `settings` the values of `more` that `settings` does not have yet.
void FillIn(Settings& settings, const Settings& more) {
  Settings merged = more;
  merged.MergeFrom(settings);  // values that are set already win
  settings.Swap(&merged);
}

std::string Source(const OwnSettings& own, const Compared& setting) {
  const auto source = own.sources.find(setting.flag);
  return source == own.sources.end() ? "" : absl::StrCat(" (", source->second, ")");
}

const Node* NodeWith(const Run& run, const Compared& setting, const std::string& value) {
  for (const auto& [id, node] : run.nodes) {
    if (setting.is_set(node.record().settings) && setting.value(node.record().settings) == value) return &node;
  }
  return nullptr;
}

v1::Refusal Differs(const Compared& setting, const v1::Join& join, const std::string& ours, const std::string& set_by,
                    const std::string& remedy) {
  return MakeRefusal(v1::Refusal::SETTINGS_DIFFER,
                     absl::StrCat(setting.name, " is ", setting.value(join.settings()), " on ",
                                  join.node_id().empty() ? "this node" : absl::StrCat("node ", join.node_id()), " (",
                                  join.node().host_name(), ") but ", ours, " as set by ", set_by, remedy));
}

// True if all regular members would have been admitted with these settings.
bool HasRoomForAll(const Run& run, const Settings& settings) {
  if (run.record().slot_counts.RegularSlots(v1::ROLE_WORKER) > settings.worker_num()) return false;
  if (run.record().slot_counts.RegularSlots(v1::ROLE_SERVER) > settings.server_num()) return false;
  for (const auto& [id, node] : run.nodes) {
    if (!node.record().is_spare && !IsWithinRanks(settings, id, node.record().info)) return false;
  }
  return true;
}

constexpr char kSameEverywhere[] =
    ": it must be the same on every node; correct the wrong value and start that program again";

// Judges a join whose value of this setting differs from the run's value, which is `ours`. Returns nullopt if the
// join's value may become the run's.
std::optional<v1::Refusal> Judge(const Run& run, const OwnSettings& own, const v1::Join& join, const Compared& setting,
                                 const std::string& ours) {
  if (setting.is_set(own.rules) && setting.value(own.rules) == ours) {
    return Differs(
        setting, join, ours, absl::StrCat("the scheduler", Source(own, setting)),
        absl::StrCat(kSameEverywhere, "; a scheduler that is started without it lets each job choose its own value"));
  }
  if (const Node* node = NodeWith(run, setting, ours)) {
    return Differs(setting, join, ours, NodeText(*node), kSameEverywhere);
  }
  const std::string by = setting.is_set(own.defaults) && setting.value(own.defaults) == ours
                             ? absl::StrCat("default of the scheduler", Source(own, setting))
                             : "an earlier node";
  if (run.record().round > 0) {
    return Differs(setting, join, ours, by,
                   ", and the job runs with that: start this node with the same value, or with another --job_id");
  }
  if (HasRoomForAll(run, AgreedSettings(run, join.settings()))) return std::nullopt;
  return Differs(setting, join, ours, by,
                 ", and nodes that have joined would have no place then: set it to the same value on every node");
}

}  // namespace

Settings FirstSettings(const OwnSettings& own, const Settings& joins) {
  Settings settings = own.rules;
  FillIn(settings, joins);
  FillIn(settings, own.defaults);
  return settings;
}

Settings AgreedSettings(const Run& run, const Settings& joins) {
  Settings settings = run.record().settings;
  settings.MergeFrom(joins);
  if (run.record().settings.has_topo_timeout_ms()) {  // keep it: the run's timeout has begun already
    settings.set_topo_timeout_ms(run.record().settings.topo_timeout_ms());
  }
  return settings;
}

Settings SettingsWithout(const OwnSettings& own, const Run& run, const std::string& leaving_id) {
  Settings settings = own.rules;
  bool is_anybody_left = false;
  for (const auto& [id, node] : run.nodes) {
    if (id == leaving_id) continue;
    FillIn(settings, node.record().settings);
    is_anybody_left = true;
  }
  if (is_anybody_left && run.record().settings.has_worker_num()) {
    settings.set_worker_num(run.record().settings.worker_num());
  }
  if (is_anybody_left && run.record().settings.has_server_num()) {
    settings.set_server_num(run.record().settings.server_num());
  }
  FillIn(settings, own.defaults);
  return settings;
}

std::optional<v1::Refusal> CheckSettings(const Run& run, const OwnSettings& own, const v1::Join& join) {
  Settings ours = run.record().settings;
  if (run.record().round > 0) ours.set_server_num(ours.server_num());  // a number that is not set counts as 0 by now
  const Settings& theirs = join.settings();
  for (const Compared& setting : kCompared) {
    if (!setting.is_set(ours) || !setting.is_set(theirs) || setting.value(ours) == setting.value(theirs)) continue;
    if (auto refusal = Judge(run, own, join, setting, setting.value(ours))) return refusal;
  }
  if ((theirs.has_worker_num() ? theirs : ours).worker_num() == 0) {
    return MakeRefusal(
        v1::Refusal::SETTINGS_DIFFER,
        "MS_WORKER_NUM (--worker_num) is set neither at the scheduler nor at this node: set it on every node to the "
        "number of training processes of the whole job");
  }
  if (join.node().role() == v1::ROLE_SERVER && (theirs.has_server_num() ? theirs : ours).server_num() == 0) {
    return MakeRefusal(
        v1::Refusal::SETTINGS_DIFFER,
        "a parameter server (MS_ROLE=MS_PSERVER) joins a job without any: set MS_SERVER_NUM on every node to "
        "the number of parameter servers");
  }
  return std::nullopt;
}

}  // namespace muster::scheduler
