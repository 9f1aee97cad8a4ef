// Horovod's rendezvous, in which Horovod's ranks leave their addresses for each other. The keys have scopes: one scope
// for each set of processes (global, local_…, cross_…), with one key for each rank of the set. Here they are in the
// job's store.
//
// Horovod's own server clears a scope after all its ranks have finished with it, so that the next hvd.init() begins
// with an empty scope. Here each slot counts its own generations of a scope instead, and goes on to the next generation
// when it finishes. So the agents need not count ranks. All ranks finish equally often, because they meet in each
// generation. When one rank finishes a generation, all ranks have reached it, so none needs the keys of the generation
// before.
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
inline constexpr size_t kMaxKeys = 16;      // of one slot in one generation of a scope; Horovod writes one

struct Answer {
  int status = 200;
  std::string body;
};

// The rendezvous of one round. Only one thread may use it; answers come in any thread. A GET of a missing key waits for
// kHold, and then gets 404; the client asks again.
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
    std::map<std::string, size_t> before;   // keys of the previous generation
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
