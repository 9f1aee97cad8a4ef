// Decides whether a node may take part in a run. Pure; each refusal has a reason that a person can act on.
#pragma once

#include <optional>
#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Refuses a node of another user than the job's; returns nullopt if it may join. This prevents accidents, for example
// when two users both use the default job name. It needs the user names of both sides. These are not proved, so with
// TLS the certificate counts instead. See --shared_job.
std::optional<v1::Refusal> RefuseOtherUser(const Run& run, const v1::Join& join, const std::string& identity);

// Refuses an incarnation that has joined the run already. It may have joined under another id while this join waited.
std::optional<v1::Refusal> CheckIncarnation(const Run& run, const v1::Join& join);

// Refuses a node that must not become a regular member of the forming run with this id: the id is out of range or equal
// to another one, numbers are mixed with names, or its node rank or rank table conflicts with another node's.
// `settings` are the run's settings with those that this join adds. An empty id means that the scheduler will assign a
// name.
std::optional<v1::Refusal> CheckNodeId(const Run& run, const v1::JobSettings& settings, const std::string& id,
                                       const v1::NodeInfo& info);

// True if the ranks that the node's id or rank table asks for exist in a job of this size.
bool IsWithinRanks(const v1::JobSettings& settings, const std::string& id, const v1::NodeInfo& info);

// Refuses a node if the run has no room for its slots. Counts only regular members. `settings` is as for CheckNodeId.
std::optional<v1::Refusal> CheckRoom(const Run& run, const v1::JobSettings& settings, const v1::NodeInfo& info);

v1::Refusal MakeRefusal(v1::Refusal::Reason reason, std::string text);

// The beginning of the reason if the scheduler itself, and not a person, has taken a node out of a job.
inline constexpr char kDrainedByScheduler[] = "drained by the scheduler: ";
v1::Refusal RefuseDrained(const Run& run, const std::string& node_id, const std::string& reason);
v1::Refusal TryLater(std::string text, absl::Duration after);

// Returns the number of connected slots of regular members of this role.
uint32_t CountConnectedSlots(const Run& run, v1::Role role);

// Returns an id for a node that has none: its host name and a counter. No node of this run has had this id so far.
std::string ChooseNodeId(const Run& run, const std::string& host_name);

}  // namespace muster::scheduler
