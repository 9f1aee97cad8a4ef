// Decides which agents get in, as what, and in the place of which node.
//
//   joining.cc      how an agent gets in
//   taking_over.cc  two that claim one id, and how a lost node's place is taken again
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
  // Settles which of the node and its challenger keeps the id.
  void ResolveChallenge(Run& run, Node& node, bool is_old_alive);

 private:
  // ---- joining.cc
  void JoinKnownRun(const JoinRequested& event, Run& run);
  void JoinCurrentRun(const JoinRequested& event);
  Run* RunForNewcomer(const JoinRequested& event);
  Run* OpenRun(const JoinRequested& event);
  std::optional<v1::Refusal> CheckAdmission(const Run& run, const v1::JobSettings& settings,
                                            const JoinRequested& event) const;
  // `replaces`: the node that had the id was just removed, so the join takes no further place, and the topology timeout
  // goes on.
  void Admit(const JoinRequested& event, Run& run, bool replaces = false);
  // Returns the part of NodeJoined that is the same for any join; the caller adds how the node is let in.
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
