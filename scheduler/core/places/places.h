// Limits the number of jobs and nodes. Each job and each node takes a place. Quota limits the places of one principal
// (an identity or an address), so that some are left for others. See the table in places.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "common/base/limits.h"
#include "scheduler/core/context/context.h"

namespace muster::scheduler {

// A number of places that many principals share, so that none of them can take all. If more than an eighth of the
// places is free, any principal may take one. Otherwise a principal may take one only if it holds fewer places than are
// free. So one principal alone gets about seven eighths, the next one half of the rest, and so on. Pure.
class Quota {
 public:
  explicit Quota(size_t most) : most_(most) {}

  size_t most() const { return most_; }
  size_t taken() const { return taken_; }
  size_t HeldBy(const std::string& principal) const;
  // True if the principal may take one more.
  bool HasRoomFor(const std::string& principal) const;

  void Take(const std::string& principal);
  // Gives back one place, which the principal must hold.
  void Return(const std::string& principal);

  bool operator==(const Quota&) const = default;

 private:
  size_t most_;
  size_t taken_ = 0;
  absl::flat_hash_map<std::string, size_t> held_;  // the number of places of each principal that has any
};

class Places {
 public:
  explicit Places(Context& context) : context_(context), nodes_(context.options.max_nodes) {}

  // Return a refusal if the joining principal may not take one more place; nullopt if it may.
  std::optional<v1::Refusal> RefuseJob(const JoinRequested& event) const;
  std::optional<v1::Refusal> RefuseNode(const JoinRequested& event) const;

  // Call these after each change to a value on which the table in places.cc depends.
  void NoteHeld(Run& run);
  void NoteHeld(const Run& run, Node& node);
  void NotePrincipal(Run& run, Node& node, const JoinRequested& event);
  // Marks the node as disconnected, because its stream has ended or must end. The caller updates Context::streams.
  void Detach(Run& run, Node& node);
  // Give back the place of a node or run, and remove its deadline. Call them before the node or run is forgotten.
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
