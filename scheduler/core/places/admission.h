// Decides whether a node may take part in a run. Pure; each refusal has a reason that a person can act on.
#pragma once

#include <optional>
#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// Refuses a node of another user than the job's; nullopt if it may join. This guards against accidents (two users, one
// default job name) where both sides name their users. Names are not proved, so with TLS the certificate counts
// instead. See --shared_job.
std::optional<v1::Refusal> RefuseOtherUser(const Run& run, const v1::Join& join, const std::string& identity);

// Refuses an incarnation that is in already: it may have come in under another id while it waited for this one.
std::optional<v1::Refusal> CheckIncarnation(const Run& run, const v1::Join& join);

// Refuses a node that may not be a regular member of the forming run with this id: out of range, an equal value, digits
// mixed with names, a node rank or rank table that clashes. `settings` are the run's with what this join adds. An empty
// id stands for the name that the scheduler is going to assign.
std::optional<v1::Refusal> CheckNodeId(const Run& run, const v1::JobSettings& settings, const std::string& id,
                                       const v1::NodeInfo& info);

// True if a job of this size has the ranks that the node's id or its rank table gives it.
bool IsWithinRanks(const v1::JobSettings& settings, const std::string& id, const v1::NodeInfo& info);

// Refuses a node if there is no room for its slots. Counts regular members only. `settings` as above.
std::optional<v1::Refusal> CheckRoom(const Run& run, const v1::JobSettings& settings, const v1::NodeInfo& info);

v1::Refusal MakeRefusal(v1::Refusal::Reason reason, std::string text);
v1::Refusal RefuseDrained(const Run& run, const std::string& node_id, const std::string& reason);
v1::Refusal TryLater(std::string text, absl::Duration after);

// Returns the number of connected slots of regular members of this role.
uint32_t CountConnectedSlots(const Run& run, v1::Role role);

// Returns an id for a node that brought none: host name and a counter, not used in this run so far.
std::string ChooseNodeId(const Run& run, const std::string& host_name);

}  // namespace muster::scheduler
