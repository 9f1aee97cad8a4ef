// The places that jobs and nodes take. Quota limits what one principal may hold, so that the last places are left for
// others. See the table in places.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "common/base/limits.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

// Places that many principals share: none of them can take all. The last eighth is for principals that hold less than
// what is left of it: one principal alone may have seven eighths, the next half of the rest, and so on. Pure.
class Quota {
 public:
  explicit Quota(size_t most) : most_(most) {}

  size_t most() const { return most_; }
  size_t taken() const { return taken_; }
  size_t HeldBy(const std::string& principal) const;
  // True if the principal may take one more.
  bool HasRoomFor(const std::string& principal) const;

  void Take(const std::string& principal);
  // The principal must hold one.
  void Return(const std::string& principal);

  bool operator==(const Quota&) const = default;

 private:
  size_t most_;
  size_t taken_ = 0;
  absl::flat_hash_map<std::string, size_t> held_;  // by principal that holds any
};

class Places {
 public:
  explicit Places(Context& context) : context_(context), nodes_(context.options.max_nodes) {}

  // Return why the joining principal may have no further place; nullopt if it may.
  std::optional<v1::Refusal> RefuseJob(const JoinRequested& event) const;
  std::optional<v1::Refusal> RefuseNode(const JoinRequested& event) const;

  // Call these after each change to what the table in places.cc depends on.
  void NoteHeld(Run& run);
  void NoteHeld(const Run& run, Node& node);
  void NotePrincipal(Run& run, Node& node, const JoinRequested& event);
  // Ends the node's lease, because its stream is gone or given up. The caller updates Context::streams.
  void Detach(Run& run, Node& node);
  // Give back the places and deadlines of a node or run. Call them before it is forgotten.
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
