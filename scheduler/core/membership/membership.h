// Decides whether an agent may join a run, as a member or as a spare, and whether it takes the place of another node.
//
//   joining.cc      admits newcomers, and agents that come back
//   taking_over.cc  two agents that claim one id, and joins that take a lost node's place
#pragma once

#include <optional>
#include <string>

#include "scheduler/core/context/context.h"
#include "scheduler/core/lifecycle/lifecycle.h"
#include "scheduler/core/places/places.h"

namespace muster::scheduler {

class Membership {
 public:
  Membership(Context& context, Places& places, Lifecycle& lifecycle)
      : context_(context), places_(places), lifecycle_(lifecycle) {}

  // ---- joining.cc
  void On(const JoinRequested& event);

  // ---- taking_over.cc
  // Ends the challenge: if the node's old agent is alive, it keeps the id; otherwise the challenger takes over.
  void ResolveChallenge(Run& run, Node& node, bool is_old_alive);

 private:
  // ---- joining.cc
  void JoinKnownRun(const JoinRequested& event, Run& run);
  void JoinCurrentRun(const JoinRequested& event);
  Run* RunForNewcomer(const JoinRequested& event);
  Run* OpenRun(const JoinRequested& event);
  std::optional<v1::Refusal> CheckAdmission(const Run& run, const v1::JobSettings& settings,
                                            const JoinRequested& event) const;
  // Adds the node to the run, or refuses it. `replaces`: the node that had the id was removed just before. Then the
  // join takes no additional place in the quota, and does not restart the topology timeout.
  void Admit(const JoinRequested& event, Run& run, bool replaces = false);
  // Returns a NodeJoined record with the fields that every join sets. The caller adds the other fields.
  v1::Record NewNodeJoined(const Run& run, const std::string& id, const JoinRequested& event) const;
  void Resume(const JoinRequested& event, Run& run, Node& node);
  void Attach(const JoinRequested& event, Run& run, Node& node, bool is_resumed);
  void Refuse(const JoinRequested& event, v1::Refusal refusal);
  std::string PreviousRunText(const Run& run) const;

  // ---- taking_over.cc
  void Challenge(const JoinRequested& event, Run& run, Node& node);
  void TakeOver(const JoinRequested& event, Run& run, Node& node);
  void Rejoin(const JoinRequested& event, Run& run, Node& node);
  static Node* FindReplaced(Run& run, const JoinRequested& event);
  static bool IsSoleHeir(const Node& node, const v1::Join& join);
  static std::string WhyNoHeir(const Node& node, const v1::Join& join);
  static bool IsFormerStart(const Node& node, const v1::Join& join);

  Context& context_;
  Places& places_;
  Lifecycle& lifecycle_;
  uint64_t last_probe_ = 0;
};

}  // namespace muster::scheduler
