// Every command is a row of the table, with its handler. A word that is in no row is refused.
//
// Only stop, restart, fence, drain and undrain change a job. They use the scheduler's Unix socket, or an admin's
// certificate.
#include "ctl/commands/commands.h"

#include <algorithm>
#include <utility>

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

constexpr char kForAdmins[] = "It works on the scheduler's machine, or with an admin's certificate.";

int InspectJournal(Call& call) { return RunJournal(call.words, call.settings.json); }

// Reports that `certs` did not come first. (Otherwise main runs it. Words before it would be read as settings of other
// commands, which `certs` does not have.)
int CertsTooLate(Call&) {
  return Usage("certs: this word must come first, because its settings are its own: ms-ctl certs list --dir FOLDER");
}

// Reports that `convert` did not come first. (The words after it belong to another program.)
int ConvertTooLate(Call&) {
  return Usage("convert: this word must come first, as in ms-ctl convert torchrun train.py");
}

// Three wrappers for handlers that ask the scheduler. Ask is for commands about one job, AskForAll for commands about
// all jobs or the named one, AskOfScheduler for commands about the scheduler itself.
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

// Returns the error in a command's arguments; empty if there is none. `words[0]` is the command.
std::string CheckWords(const Command& command, const std::vector<std::string>& words, const CtlSettings& settings) {
  // An unset shell variable gives an empty word. It must not mean "all jobs" or "the only job".
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

// Returns the index of the job's name in `words`; 0: they have none. The first word is the command.
size_t PlaceOfJob(const Command& command, const std::vector<std::string>& words) {
  if (!absl::StartsWith(command.argument, "[JOB]") || words.size() < 2) return 0;
  if (command.argument == "[JOB]" || words.size() > 2) return 1;
  // The command takes two arguments, and one is given. A node or rank is required, so the argument is not the job.
  // Ranks of "[RANKS]" are optional, so the argument may be the job.
  const bool may_be_job = command.argument == "[JOB] [RANKS]" && !ParseNumberRanges(words[1], kMaxWorkers).ok();
  return may_be_job && IsId(words[1]) ? 1 : 0;
}

// Moves the job's name from `words` to the settings. Returns the error; empty if there is none.
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

std::vector<Command> LookingCommands() {
  return {
      {"why",
       "[JOB]",
       "Shows what a job waits for or why it failed, and what to do.",
       Ask<ShowWhy>,
       "Also shows the last lines of the process that failed.",
       {"ms-ctl why", "ms-ctl why train --run 2"}},
      {"status", "[JOB]", "Shows each job's phase and round, the missing nodes, and why it ended.",
       AskForAll<ShowStatus>},
      {"nodes",
       "[JOB]",
       "Shows the agents of a job, their last reports and their ranks.",
       AskForAll<ShowNodes>,
       "",
       {"ms-ctl nodes --missing"}},
      {"ranks", "[JOB]", "Shows the node, address, device and process of each rank.", AskForAll<ShowRanks>},
      {"events",
       "[JOB]",
       "Shows the events so far, with times.",
       AskForAll<ShowEvents>,
       "The scheduler keeps the last 20,000 events.",
       {"ms-ctl events --since 2h"}},
      {"top", "[JOB]", "Shows the slowest ranks, and the nodes silent for longest.", AskForAll<ShowTop>,
       "It compares ranks by the steps that they write to MS_PROGRESS_FILE."},
      {"logs",
       "[JOB] RANK",
       "Shows the last output of a rank's process; -f follows it.",
       Ask<ShowLogs>,
       kForAdmins,
       {"ms-ctl logs 3", "ms-ctl logs train 3 -f"}},
      {"stacks",
       "[JOB] [RANKS]",
       "Shows the stacks of the slowest processes, or of the given ranks.",
       Ask<ShowStacks>,
       kForAdmins,
       {"ms-ctl stacks", "ms-ctl stacks 0,3-5"}},
      {"watch", "[JOB]", "Shows jobs, nodes and events live.", AskForAll<FollowJobs>,
       "On a terminal it is a screen: arrows and Enter open a job, Esc goes back, / filters, s sorts, q ends. "
       "Otherwise, or with --plain, it prints lines until the job ends. Exit code 1 means that the job failed."},
      {"preflight", "[JOB]", "Shows the results of --preflight host and command.", AskForAll<ShowPreflight>,
       "Exit code 1 means that there is an error."},
      {"report",
       "[JOB]",
       "Writes one HTML file with everything about a run, to attach to a ticket.",
       Ask<WriteReport>,
       "The file contains output of the processes: check it before you share it.",
       {"ms-ctl report train --run 2 -o train.html"}},
  };
}

std::vector<Command> ChangingCommands() {
  return {
      {"stop",
       "[JOB]",
       "Ends a job: stops its processes and ends its agents.",
       Ask<StopJob>,
       absl::StrCat("It asks first if you do not name the job, or if the job is another user's. ", kForAdmins),
       {"ms-ctl stop train --reason \"wrong data\""}},
      {"restart", "[JOB]", "Starts all processes of a job again, with the same ranks.", Ask<RestartJob>, kForAdmins},
      {"drain",
       "[JOB] NODE",
       "Takes a node out of a job when its round ends, or at once with --now.",
       Ask<DrainNode>,
       absl::StrCat("A spare or a later start of the node takes its ranks. ", kForAdmins),
       {"ms-ctl drain train node-3 --now"}},
      {"undrain", "[JOB] NODE", "Cancels the drain of a node, so that it stays in the job.", Ask<UndrainNode>,
       kForAdmins},
      {"fence",
       "[JOB] NODE",
       "Confirms that a lost node's processes have ended.",
       Ask<FenceNode>,
       absl::StrCat("Its ranks may then start elsewhere. Use it only if you are certain, for example because the "
                    "machine is off. ",
                    kForAdmins),
       {"ms-ctl fence node-3"}},
  };
}

std::vector<Command> ServerCommands() {
  return {
      {"ping",
       "",
       "Checks whether this machine reaches the scheduler, and what is in the way.",
       PingScheduler,
       "It checks name, connection, TLS, version, clock and UDP.",
       {"ms-ctl ping --sched_host node1"}},
      {"check", "", "Does what ping does; on a node, `ms-worker --check` also checks the node.", PingScheduler},
      {"counters", "", "Counts refusals by reason, and shows when certificates expire.", AskOfScheduler<ShowCounters>},
  };
}

std::vector<Command> FileCommands() {
  return {
      {"ranktable",
       "[JOB]",
       "Prints the rank table of a job (Ascend), checks one, or makes one.",
       ShowRankTable,
       "",
       {"ms-ctl ranktable", "ms-ctl ranktable --check table.json",
        "ms-ctl ranktable --for 2 --hosts 10.0.0.1,10.0.0.2 --device_ips 192.168.0.1 --device_ips 192.168.0.2"}},
      {"hostfile",
       "[JOB]",
       "Prints a job's machines as other launchers read them.",
       AskForAll<ShowHostFile>,
       "",
       {"ms-ctl hostfile --form mpich"}},
  };
}

std::vector<Command> LocalCommands() {
  return {
      {"certs", "COMMAND", "Makes, renews and revokes the certificates of a cluster.", CertsTooLate},
      {"journal",
       "show|verify FILE",
       "Shows a scheduler's journal, or checks it.",
       InspectJournal,
       "",
       {"ms-ctl journal verify journal-8118.db"}},
      {"convert",
       "LINE",
       "Converts a line of another launcher into one of ms-worker's.",
       ConvertTooLate,
       "It knows torchrun, accelerate, deepspeed, mpirun, horovodrun and msrun, and looks into shell scripts.",
       {"ms-ctl convert torchrun --nproc_per_node=4 train.py", "ms-ctl convert bash launch.sh"}},
      {"completion",
       "bash|fish|zsh",
       "Prints a completion script for ms-ctl, ms-worker and ms-scheduler.",
       PrintCompletion,
       "",
       {"source <(ms-ctl completion bash)"}},
      {"help", "[COMMAND]", "Explains a command and its settings.", ShowHelp, "", {"ms-ctl help logs"}},
  };
}

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* const commands = [] {
    auto* all = new std::vector<Command>;
    const auto add = [all](const char* group, std::vector<Command> some) {
      for (Command& command : some) {
        command.group = group;
        all->push_back(std::move(command));
      }
    };
    add("Look at jobs", LookingCommands());
    add("Change a job", ChangingCommands());
    add("The scheduler", ServerCommands());
    add("Files for other programs", FileCommands());
    add(kWithoutScheduler, LocalCommands());
    return all;
  }();
  return *commands;
}

const Command* FindCommand(const std::string& name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::string meant = NearMiss(word, names);
  return absl::StrCat("unknown command '", word, "'",
                      meant.empty() ? ";" : absl::StrCat("; did you mean '", meant, "'?"), " `ms-ctl help` lists all");
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
