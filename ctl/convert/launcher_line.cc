// A job of one node becomes a line with --standalone. A job of several nodes becomes one with --with_scheduler and the
// first node's name.
//
// Some launchers, such as torchrun and msrun, run a Python script. In the new line it runs under the launcher's python.
// Any other command stays as it is.
#include "ctl/convert/launcher_line.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command/python_target.h"
#include "common/command/shell_words.h"
#include "ctl/convert/count.h"
#include "ctl/convert/hosts.h"
#include "ctl/convert/job_size.h"
#include "ctl/convert/launcher_options.h"

namespace muster::ctl {
namespace {

using Words = std::vector<std::string>;

class Converter {
 public:
  explicit Converter(LauncherLine line)
      : line_(std::move(line)), launcher_(line_.launcher), asked_(ReadOptions(line_)) {}

  Converted Run() {
    if (asked_.error.empty()) asked_.error = SettleSize(*launcher_, asked_.size, asked_.notes);
    std::string line = asked_.error.empty() ? Write() : "";
    if (!asked_.error.empty()) {
      line.clear();
    } else if (*launcher_->note != '\0') {
      Note(launcher_->note);
    }
    return {std::move(line), std::move(asked_.notes), std::move(asked_.error)};
  }

 private:
  void Fail(const std::string& why) {
    if (asked_.error.empty()) asked_.error = why;
  }
  void Note(const std::string& note) { asked_.notes.push_back(note); }

  void WriteSize(Words& line) {
    if (asked_.is_standalone || (asked_.size.nodes->number == 1 && !asked_.size.names_hosts)) {
      line.emplace_back("--standalone");
    } else {
      if (!asked_.size.processes) {
        return Fail(absl::StrCat(
            "with several nodes, the number of all processes must be known: write the number for each node, ",
            launcher_->name, " ", launcher_->asks));
      }
      line.push_back(absl::StrCat("--with_scheduler --sched_host ", SchedHost()));
      if (!asked_.port.text.empty() && AddFlag("sched_port", asked_.port, "the port", asked_)) {
        line.push_back(asked_.flags.back());
        asked_.flags.pop_back();
      }
      line.push_back(absl::StrCat("--worker_num ", ShownNumber(*asked_.size.processes)));
    }
    line.push_back(
        absl::StrCat("--local_worker_num ", asked_.size.is_auto ? "auto" : ShownNumber(*asked_.size.per_node)));
  }

  static std::string ShownNumber(const Count& count) { return ShellWordToExpand(count.Text()); }

  std::string SchedHost() {
    std::string why;
    if (IsEachMachineItself(asked_.host.text)) {
      why = absl::StrCat(": on each node, ", asked_.host.text, " means that node itself");
    } else if (!asked_.host.text.empty()) {
      why = WhyRefused("sched_host", asked_.host.text);
      if (why.empty()) return asked_.host.shown;
      why = absl::StrCat(": ", asked_.host.text, " is refused, since it ", why);
    }
    Note(absl::StrCat("put the first node's name in the place of HOST", why));
    return "HOST";
  }

  // Adds the options for the streams of a process. ms-worker keeps stdout and stderr together, so any selection becomes
  // 3, which means both.
  void WriteStreams() {
    const auto is_set = [](const std::string& streams) { return !streams.empty() && streams != "0"; };
    const bool has_folder = std::any_of(asked_.flags.begin(), asked_.flags.end(),
                                        [](const std::string& flag) { return absl::StartsWith(flag, "--log_dir "); });
    for (const auto& [name, streams] : {std::pair("redirects", &asked_.redirects), std::pair("tee", &asked_.tee)}) {
      if (is_set(*streams) && *streams != "3") {
        Note(absl::StrCat("--", name, " ", *streams, " is taken for 3: stdout and stderr of a process stay together"));
      }
    }
    if (is_set(asked_.redirects) && !has_folder) {
      Note("--redirects needs a folder here: add --log_dir FOLDER");
    } else if (is_set(asked_.redirects)) {
      asked_.flags.emplace_back("--redirects 3");
    }
    if (is_set(asked_.tee)) asked_.flags.emplace_back("--tee 3");
  }

  void WriteCommand(Words& line) {
    const std::string python = line_.python.empty() ? "python3" : line_.python;
    const std::string& program = asked_.command.words[0];
    const bool is_script = absl::EndsWith(program, ".py") || absl::StartsWith(program, "$") || line_.python.empty();
    const bool needs_python = launcher_->starts_python && !asked_.is_as_typed &&
                              (is_script || launcher_->gives_local_rank) && !IsPython(BaseName(program));
    if (launcher_->starts_python && asked_.is_module) {
      line.push_back(absl::StrCat(python, " -m"));
    } else if (needs_python) {
      line.push_back(python);
    }
    if (asked_.is_as_typed) line.insert(line.end() - 1, "--no_python");
    if (!launcher_->gives_local_rank || !asked_.gets_local_rank) return Append(asked_.command.All(), line);
    Append(asked_.command.Before(1), line);
    line.emplace_back("--local_rank={local_rank}");
    const bool is_of_torch = launcher_->name == std::string("torch.distributed.launch");
    Note(absl::StrCat("--local_rank={local_rank} is the argument that ", launcher_->name, " adds",
                      is_of_torch ? " (--local-rank from PyTorch 2.0 on)" : "",
                      "; leave it out for a script that reads LOCAL_RANK"));
    Append(asked_.command.From(1).All(), line);
  }

  std::string Write() {
    const std::vector<HostSlots>& hosts = asked_.size.hosts;
    if (asked_.host.text.empty() && !hosts.empty()) asked_.host = {hosts[0].name, ShellWordToExpand(hosts[0].name)};
    Words line = line_.before;
    line.emplace_back("ms-worker");
    WriteSize(line);
    WriteStreams();
    Append(asked_.flags, line);
    line.emplace_back("--");
    WriteCommand(line);
    return absl::StrJoin(line, " ");
  }

  LauncherLine line_;
  const Launcher* launcher_;
  Asked asked_;
};

}  // namespace

Converted ConvertLauncher(LauncherLine line) { return Converter(std::move(line)).Run(); }

}  // namespace muster::ctl
