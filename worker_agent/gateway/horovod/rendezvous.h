// Where Horovod's ranks leave their addresses for each other: a scope (global, local_…, cross_…, one for each set of
// processes) has a key for each of its ranks. Here they are in the job's store.
//
// Horovod's own server clears a scope once all its ranks have finished with it, so that the next hvd.init() begins with
// an empty one. The same is had without counting them over all agents: each slot has its own generation of a scope, and
// goes on to the next when it finishes. All ranks do so equally often, as they meet in each. When one finishes, all
// have come to this generation, so nobody needs what it has left in the one before.
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

inline constexpr size_t kMaxScopes = 1024;  // of a slot
inline constexpr size_t kMaxKeys = 16;      // that a slot leaves in a generation of a scope; Horovod's leave one

struct Answer {
  int status = 200;
  std::string body;
};

// Of one round. One thread; answers come from any. A key that is not there is waited for, a moment, and then 404: the
// client polls.
class Rendezvous {
 public:
  using Done = std::function<void(Answer answer)>;

  // Both must outlive all answers; this need not.
  Rendezvous(JobStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  // `done` is called once, maybe from inside the call.
  void Handle(uint32_t slot, const Request& request, Done done);

 private:
  struct Scope {
    uint64_t generation = 0;
    std::map<std::string, size_t> written;  // in this generation: pieces of each key
    std::map<std::string, size_t> before;   // … in the one before
  };

  static std::string NameOf(const Request& request, uint64_t generation);
  void Get(const std::string& name, Done done) const;
  void Put(Scope& scope, const Request& request, Done done);
  void Finish(Scope& scope, const Request& request) const;

  JobStore& store_;
  const Clock& clock_;
  std::map<std::pair<uint32_t, std::string>, Scope> scopes_;
  std::map<uint32_t, size_t> scopes_of_;  // how many a slot has
};

}  // namespace muster::horovod
