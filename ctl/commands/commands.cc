// Every command is a row of the table, with its handler. A word without a row is refused; no handler takes "all the
// rest". Only these commands change something:
//
//   stop, restart, fence, drain, undrain    over the scheduler's Unix socket, or with an admin's certificate
#include "ctl/commands/commands.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/number_list.h"
#include "common/show/words.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

int InspectJournal(Call& call) { return RunJournal(call.words, call.settings.json); }

// main takes `certs` only if it comes first: these commands' settings would read the words before it.
int CertsTooLate(Call&) {
  return Usage("certs: this word must come first, because its settings are its own: ms-ctl certs list --dir FOLDER");
}

// The same for `convert`, whose words are another program's.
int ConvertTooLate(Call&) {
  return Usage("convert: this word must come first, as in ms-ctl convert torchrun train.py");
}

// Handlers that ask the scheduler: about a job; about all jobs unless one is named; about the scheduler itself.
template <int (*answer)(Call&)>
int Ask(Call& call) {
  return AskTrustedWith(call.settings.job_id, call, answer);
}

template <int (*answer)(Call&)>
int AskForAll(Call& call) {
  if (call.settings.run > 0 && call.settings.job_id.empty()) {
    return Usage("--run says which run of a job: name the job too, as in ms-ctl status JOB --run N");
  }
  return Ask<answer>(call);
}

template <int (*answer)(Call&)>
int AskOfScheduler(Call& call) {
  return AskTrustedWith("", call, answer);
}

const Command* FindCommand(const std::string& name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

// Returns the error in the words after a command; empty if there is none.
std::string CheckWords(const Command& command, const std::vector<std::string>& words, const CtlSettings& settings) {
  // An unset variable gives an empty word. It must not stand for all jobs or the only one.
  if (std::count(words.begin(), words.end(), "") > 0) {
    return absl::StrCat("'", command.name, "': an empty word names nothing; leave it out");
  }
  if (settings.is_job_on_line && settings.job_id.empty()) return "--job is empty: name the job, or leave it out";
  const auto blanks = static_cast<size_t>(std::count(command.argument.begin(), command.argument.end(), ' '));
  const size_t most = command.argument.empty() ? 0 : 1 + blanks;
  if (words.size() <= 1 + most) return "";
  if (most == 0) {
    return absl::StrCat("'", command.name, "' takes no argument, but '", words[1], "' was given");
  }
  return absl::StrCat("'", command.name, "' takes ", most == 1 ? "one argument" : absl::StrCat(most, " arguments"),
                      ", but there is also '", words[1 + most], "'");
}

// Returns the job's place among the words after a command; 0 if it is not there. The command's argument begins with
// [JOB], and `words` are no more than it takes.
size_t PlaceOfJob(const Command& command, const std::vector<std::string>& words) {
  if (!absl::StartsWith(command.argument, "[JOB]") || words.size() < 2) return 0;
  if (command.argument == "[JOB]" || words.size() > 2) return 1;
  // One word for two: a node must be named; ranks need not be.
  const bool may_be_job = command.argument == "[JOB] [RANKS]" && !ParseNumberRanges(words[1], kMaxWorkers).ok();
  return may_be_job && IsId(words[1]) ? 1 : 0;
}

// Takes the job out of the words. Returns the error in it; empty if there is none.
std::string TakeJob(const Command& command, std::vector<std::string>& words, CtlSettings& settings) {
  const size_t place = PlaceOfJob(command, words);
  if (place == 0) return "";
  const std::string job = words[place];
  if (settings.is_job_on_line && settings.job_id != job) {
    return absl::StrCat("'", command.name, " ", job, "' and --job ", settings.job_id, " name two jobs: name one");
  }
  settings.job_id = job;
  settings.is_job_on_line = true;
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(place));
  return "";
}

std::string UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::string meant = NearMiss(word, names);
  return absl::StrCat("unknown command '", word, "'",
                      meant.empty() ? ";" : absl::StrCat("; did you mean '", meant, "'?"),
                      " `ms-ctl --help` lists all");
}

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* const commands = new std::vector<Command>{
      {"why", "[JOB]", "what a job waits for or failed of, with the last lines and what to do", Ask<ShowWhy>},
      {"status", "[JOB]", "each job's phase, round, who is missing, and why it ended", AskForAll<ShowStatus>},
      {"nodes", "[JOB]", "the agents of a job, when each was last seen, and its ranks; --missing: whom it waits for",
       AskForAll<ShowNodes>},
      {"ranks", "[JOB]", "who has which rank, with address, device and process", AskForAll<ShowRanks>},
      {"preflight", "[JOB]", "what the checks of the nodes' hosts came to (--preflight host); exit code 1: an error",
       AskForAll<ShowPreflight>},
      {"ranktable", "[JOB]", "a job's rank table (Ascend); --check FILE explains one, --for N makes one without a job",
       ShowRankTable},
      {"hostfile", "[JOB]", "a job's machines as --form openmpi, mpich, horovod or deepspeed reads them",
       AskForAll<ShowHostFile>},
      {"events", "[JOB]", "the event log so far, with wall times; --since 2h: only the latest", AskForAll<ShowEvents>},
      {"top", "[JOB]", "who is slow in progress, and who is late with heartbeats; --lines N of each",
       AskForAll<ShowTop>},
      {"logs", "[JOB] RANK", "what a rank's process wrote last; -f: and what it writes from now on", Ask<ShowLogs>},
      {"report", "[JOB]", "all about a run in one HTML file, to attach to a ticket; -o FILE", Ask<WriteReport>},
      {"stacks", "[JOB] [RANKS]", "where processes stand: the slowest ones, or those of ranks such as 0,3-5",
       Ask<ShowStacks>},
      {"watch", "[JOB]",
       "jobs, nodes and events live: on a terminal a screen with keys (q ends it), else lines until the job ends",
       AskForAll<FollowJobs>},
      {"ping", "", "whether the scheduler can be reached from here, and if not, what is in the way", PingScheduler},
      {"counters", "", "how often what was refused and why, and how long certificates last",
       AskOfScheduler<ShowCounters>},
      {"stop", "[JOB]", "ends a job: its processes are stopped, its agents end", Ask<StopJob>},
      {"restart", "[JOB]", "starts all processes of a job again, in a new round with the same ranks", Ask<RestartJob>},
      {"fence", "[JOB] NODE",
       "says that a lost node's processes have surely ended, so that its ranks may start elsewhere", Ask<FenceNode>},
      {"drain", "[JOB] NODE",
       "has a node leave the job where the round ends, or --now; a spare or a later start takes its place",
       Ask<DrainNode>},
      {"undrain", "[JOB] NODE", "lets a node stay after all", Ask<UndrainNode>},
      {"certs", "COMMAND", "the certificates of a cluster: init, scheduler, node, …; `ms-ctl certs --help` explains",
       CertsTooLate},
      {"journal", "show|verify FILE",
       "what a scheduler's journal holds, and whether it is sound; no scheduler is asked", InspectJournal},
      {"convert", "LINE", "another launcher's line (torchrun, mpirun, …) as one of ms-worker's", ConvertTooLate},
      {"completion", "bash|fish|zsh", "prints a completion script: source <(ms-ctl completion bash)", PrintCompletion},
  };
  return *commands;
}

int RunCommand(std::vector<std::string> words, CtlSettings settings, const SettingsTable& table) {
  const Command* command = FindCommand(words[0]);
  if (command == nullptr) return Usage(UnknownCommand(words[0]));
  if (const std::string wrong = CheckWords(*command, words, settings); !wrong.empty()) return Usage(wrong);
  if (const std::string wrong = TakeJob(*command, words, settings); !wrong.empty()) return Usage(wrong);
  Call call{settings, table,  *command, words.size() > 1 ? words[1] : "", {words.begin() + 1, words.end()},
            nullptr,  nullptr};
  return command->run(call);
}

}  // namespace muster::ctl
