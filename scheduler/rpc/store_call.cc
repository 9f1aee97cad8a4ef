#include "scheduler/rpc/store_call.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "scheduler/rpc/validation.h"

namespace muster::scheduler {
namespace {

absl::Status Authorize(const ServiceContext& services, const PeerFacts& peer, const StoreOperation& operation) {
  const v1::StoreCaller& caller = CallerOf(operation);
  if (caller.node_id().empty()) return absl::InvalidArgumentError("node_id is empty");
  absl::Status allowed = services.authorizer.AuthorizeForNode(peer, caller.job_id(), caller.node_id());
  // A lighthouse (a group of replicas) has a name of its own. A certificate for one job covers only the lighthouse with
  // the job's name.
  const auto* report = std::get_if<v1::ReplicasReport>(&operation);
  if (!allowed.ok() || report == nullptr) return allowed;
  return services.authorizer.AuthorizeForNode(peer, report->lighthouse(), caller.node_id());
}

}  // namespace

void CallStore(const ServiceContext& services, StoreCalls& calls, const PeerFacts& peer, StoreOperation operation,
               StoreCalls::Done done) {
  if (absl::Status allowed = Authorize(services, peer, operation); !allowed.ok()) {
    services.counted.Note(Severity::kWarning, absl::IsInvalidArgument(allowed) ? "malformed request" : KindOf(allowed),
                          absl::StrCat("refused a store call from ", peer.ToString(), ": ", allowed.message()));
    return done(std::move(allowed));
  }
  calls.Call(std::move(operation), peer.identity, [done = std::move(done), &counted = services.counted](auto answer) {
    // Don't log requests of a round that has ended, which are normal. Log those refused for their form or lack of room.
    if (absl::IsInvalidArgument(answer.status()) || absl::IsResourceExhausted(answer.status()) ||
        absl::IsUnavailable(answer.status())) {
      counted.Note(Severity::kWarning, "store refused",
                   absl::StrCat("refused a store call: ", answer.status().message()));
    }
    done(std::move(answer));
  });
}

}  // namespace muster::scheduler
