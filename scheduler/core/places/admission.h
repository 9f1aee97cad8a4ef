// May this node take part in this run? A pure verdict, always with a reason that a person can act on.
#pragma once

#include <optional>
#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state/state.h"

namespace muster::scheduler {

// A job is its user's: why a node of another user may not join; nullopt if it may. A guard against accidents (two
// users, one default job name) where both sides name their users; names are not proved, so with TLS the certificate's
// is what counts. See --shared_job.
std::optional<v1::Refusal> RefuseOtherUser(const Run& run, const v1::Join& join, const std::string& identity);

// A newcomer may have come in under another id while it waited for this one.
std::optional<v1::Refusal> CheckIncarnation(const Run& run, const v1::Join& join);

// Why a node with this id may not be a regular member of the forming run: out of range, an equal value, digits mixed
// with names, a node rank or rank table that clashes. `settings` are the run's with what this join adds. An empty id is
// one that the scheduler is going to assign: a name.
std::optional<v1::Refusal> CheckNodeId(const Run& run, const v1::JobSettings& settings, const std::string& id,
                                       const v1::NodeInfo& info);

// Whether a job of this size has the ranks that the node's id or its rank table gives it.
bool IsWithinRanks(const v1::JobSettings& settings, const std::string& id, const v1::NodeInfo& info);

// Why there is no room for its slots; nullopt if there is. Counts regular members only. `settings` as above.
std::optional<v1::Refusal> CheckRoom(const Run& run, const v1::JobSettings& settings, const v1::NodeInfo& info);

v1::Refusal MakeRefusal(v1::Refusal::Reason reason, std::string text);
v1::Refusal RefuseDrained(const Run& run, const std::string& node_id, const std::string& reason);
v1::Refusal TryLater(std::string text, absl::Duration after);

// Slots of regular members of this role that are connected.
uint32_t CountConnectedSlots(const Run& run, v1::Role role);

// An id for a node that brought none: host name and a counter, not used in this run so far.
std::string ChooseNodeId(const Run& run, const std::string& host_name);

}  // namespace muster::scheduler
