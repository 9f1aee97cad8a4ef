#include "scheduler/frontend/core_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {

absl::Status AskCore(const ServiceContext& services, const std::string& principal, absl::Duration limit,
                     const std::function<Event(QueryId)>& make_event, PendingQueries::Done done) {
  const absl::StatusOr<QueryId> id =
      services.queries.Add(services.clock.Read().monotonic + limit, std::move(done), principal);
  if (!id.ok()) return id.status();
  services.queries.Begin(*id, [&services, id = *id, event = make_event(*id)]() mutable {
    if (services.post(std::move(event), [&services] { services.queries.NoteApplied(); })) return true;
    services.queries.Resolve({id, absl::ResourceExhaustedError("the scheduler is busy: try again"), {}});
    return false;
  });
  return absl::OkStatus();
}

absl::Status MayChange(const ServiceContext& services, const PeerFacts& peer, const std::string& job_id) {
  absl::Status status = services.authorizer.AuthorizeAdminChange(peer, job_id);
  if (!status.ok()) {
    services.counted.Note(
        Severity::kWarning, KindOf(status),
        absl::StrCat("refused to change a run for ", peer.ToString(), ": ", std::string(status.message())));
  }
  return status;
}

}  // namespace muster::scheduler
