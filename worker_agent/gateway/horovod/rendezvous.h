// Horovod's rendezvous: its ranks leave their addresses there for each other. A scope (global, local_…, cross_…, one
// for each set of processes) has a key for each of its ranks. Here the scopes are in the job's store.
//
// Horovod's own server clears a scope once all its ranks have finished with it, so that the next hvd.init() begins with
// an empty one. Here each slot has its own generation of a scope instead, and goes on to the next when it finishes. So
// the agents need not count ranks. All ranks finish equally often, as they meet in each generation. When one finishes,
// all have reached this generation, so no rank needs the keys of the one before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/horovod/request.h"

namespace muster::horovod {

inline constexpr size_t kMaxScopes = 1024;  // of one slot
inline constexpr size_t kMaxKeys = 16;      // of one slot in a generation of a scope; Horovod leaves one

struct Answer {
  int status = 200;
  std::string body;
};

// The rendezvous of one round. One thread; answers come from any. A GET of a missing key waits for a moment, and then
// gets 404: the client polls.
class Rendezvous {
 public:
  using Done = std::function<void(Answer answer)>;

  // Both must outlive all answers; this object need not.
  Rendezvous(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  // Calls `done` once, perhaps from inside the call.
  void Handle(uint32_t slot, const Request& request, Done done);

 private:
  struct Scope {
    uint64_t generation = 0;
    std::map<std::string, size_t> written;  // keys of this generation, with their number of pieces
    std::map<std::string, size_t> before;   // those of the generation before
  };

  static std::string NameOf(const Request& request, uint64_t generation);
  void Get(const std::string& name, Done done) const;
  void Put(Scope& scope, const Request& request, Done done);
  void Finish(Scope& scope, const Request& request) const;

  JobStore& store_;
  const Clock& clock_;
  std::map<std::pair<uint32_t, std::string>, Scope> scopes_;
  std::map<uint32_t, size_t> scopes_of_;  // number of scopes, by slot
};

}  // namespace muster::horovod
