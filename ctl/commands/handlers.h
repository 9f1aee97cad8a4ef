// The handlers of the commands in the table of commands.cc. Each returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "ctl/commands/commands.h"

namespace muster::ctl {

// show.cc. These change nothing. call.client must be connected.
int ShowStatus(Call& call);
int ShowNodes(Call& call);
int ShowRanks(Call& call);
int ShowPreflight(Call& call);
int ShowEvents(Call& call);
int ShowWhy(Call& call);
int ShowStacks(Call& call);
int ShowCounters(Call& call);
int ShowTop(Call& call);

// logs_command.cc. Changes nothing.
int ShowLogs(Call& call);

// report_command.cc. Writes a file on this machine, and changes nothing else.
int WriteReport(Call& call);

// hostfile_command.cc. Changes nothing. call.client must be connected.
int ShowHostFile(Call& call);

// steer.cc. Only these commands change a job.
int StopJob(Call& call);
int RestartJob(Call& call);
int FenceNode(Call& call);
int DrainNode(Call& call);
int UndrainNode(Call& call);

// ranktable_command.cc. Connects to the scheduler only if the table of a job is wanted.
int ShowRankTable(Call& call);

// ping/ping_command.cc. Connects to the scheduler itself.
int PingScheduler(Call& call);

// journal_command.cc. Reads a journal on the disk, without a scheduler. `words`: the words after "journal". Prints to
// stdout, and errors to stderr. Returns 0 if the journal was shown or is sound; 1 if it is damaged, in use by a
// scheduler, or not readable by this version; 2 if the usage is wrong or there is no journal.
int RunJournal(const std::vector<std::string>& words, bool json);

// watch.cc
int FollowJobs(Call& call);

// completion.cc
int PrintCompletion(Call& call);

// help_command.cc
int ShowHelp(Call& call);

}  // namespace muster::ctl
