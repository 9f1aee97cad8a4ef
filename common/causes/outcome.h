// Decides how a run ended: done, stopped on purpose, or failed. Pure.
//
// A run that was stopped has the phase RUN_PHASE_FAILED in protocols and journals, because agents ignore a phase that
// they do not know. So the outcome's cause decides. Programs show such a run as "stopped".
#pragma once

#include "muster/v1/types.pb.h"

namespace muster {

// True if the processes end on purpose and nothing broke: a stop, a restart, a node that was asked to leave. A restart
// for such a cause costs nothing of the budget.
bool IsPlannedStop(const v1::Cause& cause);

// True if a person asked for the end of the run: `ms-ctl stop`, the page, or Ctrl-C at an agent. SIGTERM at one agent
// is none: a machine that shuts down and an eviction send it, too, and without recovery it ends the run.
bool IsStopByPerson(const v1::Cause& cause);

// True if a person ended the run before it was done.
bool WasStopped(const v1::Outcome& outcome);

// Returns the exit code of a program that only watches the run: kExitSuccess, kExitStopped, kExitNeverFormed or
// kExitJobFailed.
int ExitCodeOf(const v1::Outcome& outcome);

}  // namespace muster
