#include "common/causes/outcome.h"

#include <csignal>

#include "common/base/exit_codes.h"

namespace muster {

bool IsPlannedStop(const v1::Cause& cause) {
  // SIGKILL is no planned stop: an agent that has lost its keeper leaves with SIGKILL, and its processes are gone.
  return cause.kind() == v1::Cause::STOPPED_BY_USER ||
         (cause.kind() == v1::Cause::NODE_LEFT && cause.signal() != 0 && cause.signal() != SIGKILL);
}

bool IsStopByPerson(const v1::Cause& cause) {
  return cause.kind() == v1::Cause::STOPPED_BY_USER ||
         (cause.kind() == v1::Cause::NODE_LEFT && cause.signal() == SIGINT);
}

bool WasStopped(const v1::Outcome& outcome) { return outcome.has_cause() && IsStopByPerson(outcome.cause()); }

int ExitCodeOf(const v1::Outcome& outcome) {
  if (outcome.succeeded()) return kExitSuccess;
  if (WasStopped(outcome)) return kExitStopped;
  return outcome.cause().kind() == v1::Cause::NEVER_FORMED ? kExitNeverFormed : kExitJobFailed;
}

}  // namespace muster
