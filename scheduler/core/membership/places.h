// Whose places jobs and nodes take: what one party may hold is limited (Quota), so that the last places are left for
// others. See the table in places.cc.
#pragma once

#include <optional>

#include "common/base/limits.h"
#include "scheduler/core/context.h"
#include "scheduler/core/membership/quota.h"

namespace muster::scheduler {

class Places {
 public:
  explicit Places(Context& context) : context_(context), nodes_(context.options.max_nodes) {}

  // Why who asks may have no place more; nullopt: may.
  std::optional<v1::Refusal> RefuseJob(const JoinRequested& event) const;
  std::optional<v1::Refusal> RefuseNode(const JoinRequested& event) const;

  // After each change to what the table speaks of.
  void NoteHeld(Run& run);
  void NoteHeld(const Run& run, Node& node);
  void NoteParty(Run& run, Node& node, const JoinRequested& event);
  // The node's stream is gone or given up: its lease ends. Context::streams is left to the caller.
  void Detach(Run& run, Node& node);
  // Before they are forgotten, with their deadlines.
  void Release(Node& node);
  void Release(Run& run);

  const Quota& jobs() const { return jobs_; }
  const Quota& nodes() const { return nodes_; }

 private:
  Context& context_;
  Quota jobs_{kMaxJobs};
  Quota nodes_;
};

}  // namespace muster::scheduler
