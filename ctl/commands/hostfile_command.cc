// `ms-ctl hostfile`: prints the list of a job's machines, in a form that other launchers read.
#include "common/show/hostfile.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {

int ShowHostFile(Call& call) {
  const auto jobs = ForEachJob(*call.client, call.settings, &AdminClient::ListRanks);
  if (!jobs.ok()) return Complain(jobs.status());
  if (jobs->size() != 1) {
    return Usage(jobs->empty() ? "hostfile: there is no job yet"
                               : "hostfile: there are several jobs: name one, as in ms-ctl hostfile JOB");
  }
  const std::string text = HostFileText(jobs->front().reply, call.settings.form);
  if (text.empty()) return Complain(absl::FailedPreconditionError("the job has no ranks yet: see ms-ctl why"));
  return Print(text);
}

}  // namespace muster::ctl
