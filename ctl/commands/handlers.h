// The handlers of the commands in the table (commands.cc). Each returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "ctl/commands/commands.h"

namespace muster::ctl {

// show.cc: these change nothing. call.client is open.
int ShowStatus(Call& call);
int ShowNodes(Call& call);
int ShowRanks(Call& call);
int ShowPreflight(Call& call);
int ShowEvents(Call& call);
int ShowWhy(Call& call);
int ShowStacks(Call& call);
int ShowCounters(Call& call);
int ShowTop(Call& call);

// logs_command.cc: changes nothing.
int ShowLogs(Call& call);

// report_command.cc: writes a file here, and changes nothing else.
int WriteReport(Call& call);

// hostfile_command.cc: changes nothing. call.client is open.
int ShowHostFile(Call& call);

// steer.cc: only these change a job.
int StopJob(Call& call);
int RestartJob(Call& call);
int FenceNode(Call& call);
int DrainNode(Call& call);
int UndrainNode(Call& call);

// ranktable_command.cc: asks a scheduler only for a job's table.
int ShowRankTable(Call& call);

// ping/ping_command.cc: opens the way to the scheduler itself.
int PingScheduler(Call& call);

// journal_command.cc: reads a journal on the disk, without a scheduler. `words` are those after "journal". Prints to
// stdout, errors to stderr. 0: shown, or sound; 1: damaged, held by a scheduler, or not readable by this version; 2:
// wrong usage, or no journal there.
int RunJournal(const std::vector<std::string>& words, bool json);

// watch.cc
int FollowJobs(Call& call);

// completion.cc
int PrintCompletion(Call& call);

// help_command.cc
int ShowHelp(Call& call);

}  // namespace muster::ctl
