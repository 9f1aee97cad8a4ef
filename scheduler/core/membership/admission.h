// May this node take part in this run? A pure verdict, always with a reason that a person can act on.
#pragma once

#include <optional>
#include <string>

#include "muster/v1/rendezvous.pb.h"
#include "scheduler/core/state.h"

namespace muster::scheduler {

// "node b (host-b, 10.0.0.2)"
std::string NodeText(const Node& node);

// The settings that a forming run has when this node is gone: `own` (the scheduler's) and what the others say; they
// agree. The numbers of workers and servers hold as long as anybody is there, because he came in under them.
v1::JobSettings SettingsWithout(const v1::JobSettings& own, const Run& run, const std::string& leaving_id);

// Adds what `more` says and `settings` does not say yet.
void FillInSettings(v1::JobSettings& settings, const v1::JobSettings& more);

// Why the join can't agree with the run's settings; nullopt if it does.
std::optional<v1::Refusal> CheckSettings(const Run& run, const v1::JobSettings& own, const v1::Join& join);

// A newcomer may have come in under another id while it waited for this one.
std::optional<v1::Refusal> CheckIncarnation(const Run& run, const v1::Join& join);

// Why a node with this id may not be a regular member of the forming run: out of range, an equal value, digits mixed
// with names, a node rank or rank table that clashes. `settings` are the run's with what this join adds. An empty id is
// one that the scheduler is going to assign: a name.
std::optional<v1::Refusal> CheckNodeId(const Run& run, const v1::JobSettings& settings, const std::string& id,
                                       const v1::NodeInfo& info);

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
