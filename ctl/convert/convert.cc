// How the job's size and place come out of what was said:
//
//   nodes (or hosts), processes of a node   --worker_num nodes x processes, --local_worker_num processes
//   all processes, hosts                    the same, where they can be shared out evenly
//   one node, or nothing of nodes           --standalone --local_worker_num processes
//   several nodes                           --with_scheduler --sched_host FIRST, or HOST with a note
//   a number of nodes that may change       the least of them, with a note
//
// The command: a script of Python's (torchrun, msrun) runs under the launcher's own python; others as they stand.
#include "ctl/convert/convert.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "ctl/convert/launchers.h"

namespace muster::ctl {
namespace {

using Words = std::vector<std::string>;

constexpr char kKnown[] = "torchrun, python -m torch.distributed.launch, mpirun, mpiexec, horovodrun and msrun";

std::string ShellWord(const std::string& word) {
  constexpr char kPlain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./{}-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

bool IsAssignment(const std::string& word) {
  const size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find_first_of("/-. ") > equals;
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsPython(const std::string& word) { return absl::StartsWith(LastPart(word), "python"); }

const Launcher* FindLauncher(const std::string& program) {
  for (const Launcher& launcher : Launchers()) {
    for (const char* name : launcher.programs) {
      if (program == name) return &launcher;
    }
  }
  return nullptr;
}

const Option* FindOption(const Launcher& launcher, const std::string& name) {
  for (const Option& option : *launcher.options) {
    for (const char* known : option.names) {
      if (name == known) return &option;
    }
  }
  return nullptr;
}

std::optional<uint32_t> Number(const std::string& text) {
  uint32_t number = 0;
  const bool is_number = absl::SimpleAtoi(text, &number) && number > 0 && number <= kMaxWorkers;
  return is_number ? std::make_optional(number) : std::nullopt;
}

class Converter {
 public:
  Converted Run(const Words& words) {
    ReadStart(words);
    if (out_.error.empty()) ReadOptions(words);
    if (out_.error.empty()) Write();
    if (!out_.error.empty()) out_.line.clear();
    return std::move(out_);
  }

 private:
  void Fail(const std::string& why) {
    if (out_.error.empty()) out_.error = why;
  }
  void Note(const std::string& note) { out_.notes.push_back(note); }

  // Assignments and the launcher itself.
  void ReadStart(const Words& words) {
    while (at_ < words.size() && IsAssignment(words[at_])) assignments_.push_back(words[at_++]);
    if (at_ >= words.size()) return Fail(absl::StrCat("there is no launcher in the line; known are ", kKnown));
    std::string program = LastPart(words[at_]);
    if (IsPython(words[at_]) && at_ + 2 < words.size() && words[at_ + 1] == "-m") {
      python_ = words[at_];
      program = words[at_ + 2];
      at_ += 2;
    } else if (const size_t slash = words[at_].rfind('/'); slash != std::string::npos) {
      python_ = words[at_].substr(0, slash + 1) + "python3";
    }
    launcher_ = FindLauncher(program);
    if (launcher_ == nullptr) Fail(absl::StrCat(program, " is no launcher that is known here; known are ", kKnown));
    ++at_;
  }

  void ReadOptions(const Words& words) {
    while (at_ < words.size() && words[at_].size() > 1 && words[at_][0] == '-' && out_.error.empty()) {
      if (words[at_] == "--") {
        ++at_;
        break;
      }
      ReadOption(words);
    }
    command_.assign(words.begin() + static_cast<std::ptrdiff_t>(std::min(at_, words.size())), words.end());
    if (command_.empty()) Fail("the line has no command behind the launcher's options");
    if (launcher_->options == FindLauncher("mpirun")->options &&
        std::count(command_.begin(), command_.end(), ":") > 0) {
      Fail("several programs at once (:) have no counterpart: a job has one command");
    }
  }

  void ReadOption(const Words& words) {
    const std::string typed = words[at_++];
    const size_t equals = typed.find('=');
    const std::string name = absl::StrReplaceAll(
        typed.substr(typed.find_first_not_of('-'), equals - typed.find_first_not_of('-')), {{"-", "_"}});
    const Option* option = FindOption(*launcher_, name);
    const std::string shown = typed.substr(0, equals);
    if (option == nullptr) {
      return Fail(absl::StrCat(shown, " is no option of ", launcher_->name,
                               " that is known here: take it out, convert ", "the rest, and see `ms-worker --help`"));
    }
    Words values;
    if (equals != std::string::npos && option->values > 0) values.push_back(typed.substr(equals + 1));
    while (values.size() < static_cast<size_t>(option->values) && at_ < words.size()) values.push_back(words[at_++]);
    if (values.size() < static_cast<size_t>(option->values)) return Fail(absl::StrCat(shown, " needs a value"));
    values.resize(2);
    Take(*option, shown, values);
  }

  void Take(const Option& option, const std::string& shown, const Words& values) {
    switch (option.meaning) {
      case Meaning::kProcesses:
        processes_ = Whole(shown, values[0]);
        break;
      case Meaning::kPerNode:
        TakePerNode(shown, values[0]);
        break;
      case Meaning::kNodes:
        TakeNodes(shown, values[0]);
        break;
      case Meaning::kNodeRank:
        flags_.push_back(absl::StrCat("--node_rank ", ShellWord(values[0])));
        break;
      case Meaning::kHost:
        TakeHost(values[0]);
        break;
      case Meaning::kPort:
        port_ = values[0];
        break;
      case Meaning::kHosts:
        TakeHosts(values[0]);
        break;
      case Meaning::kFlag:
        flags_.push_back(absl::StrCat("--", option.text, " ", ShellWord(values[0])));
        break;
      case Meaning::kSwitch:
        if (values[0] != "none") flags_.push_back(absl::StrCat("--", absl::StrReplaceAll(option.text, {{"=", " "}})));
        break;
      case Meaning::kRestarts:
        if (values[0] != "0") flags_.push_back(absl::StrCat("--enable_recovery --max_restarts ", ShellWord(values[0])));
        break;
      case Meaning::kStandalone:
        is_standalone_ = true;
        break;
      case Meaning::kModule:
        is_module_ = true;
        break;
      case Meaning::kAsTyped:
        is_as_typed_ = true;
        break;
      case Meaning::kEnv:
      case Meaning::kEnvPair:
      case Meaning::kMca:
      case Meaning::kVariable:
        TakeVariable(option, shown, values);
        break;
      case Meaning::kPlacement:
        TakePlacement(shown, values[0]);
        break;
      case Meaning::kDrop:
        break;
      case Meaning::kNoCounterpart:
        Note(absl::StrCat(shown, " has no counterpart: ", option.text));
        break;
      case Meaning::kNoArgument:
        has_argument_ = false;
        break;
    }
  }

  std::optional<uint32_t> Whole(const std::string& shown, const std::string& value) {
    const auto number = Number(value);
    if (!number) Fail(absl::StrCat(shown, " is ", value, ", but must be a whole number from 1 on"));
    return number;
  }

  void TakePerNode(const std::string& shown, const std::string& value) {
    if (value == "auto" || value == "gpu") {
      is_auto_ = true;
    } else if (value == "cpu") {
      Fail(absl::StrCat(shown, " cpu has no counterpart: write the number of processes"));
    } else {
      per_node_ = Whole(shown, value);
    }
  }

  void TakeNodes(const std::string& shown, const std::string& value) {
    const size_t colon = value.find(':');
    nodes_ = Whole(shown, value.substr(0, colon));
    if (colon != std::string::npos && nodes_ && value.substr(colon + 1) != value.substr(0, colon)) {
      Note(absl::StrCat(shown, " ", value, ": the size of a job is fixed, here at ", *nodes_,
                        " nodes; further ones may stand by with --spare"));
    }
  }

  // "node1:29400": the port is that of a store that Muster does not need.
  void TakeHost(const std::string& value) {
    const bool has_port = std::count(value.begin(), value.end(), ':') == 1;
    host_ = has_port ? value.substr(0, value.find(':')) : value;
  }

  void TakeHosts(const std::string& value) {
    std::optional<uint32_t> each;
    uint32_t count = 0;
    for (const absl::string_view item : absl::StrSplit(value, ',')) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(item, absl::MaxSplits(':', 1));
      if (host_.empty()) host_ = parts.first;
      const uint32_t slots = Number(parts.second).value_or(0);
      if (count++ > 0 && each != slots)
        return Fail("hosts with unequal numbers of processes: write each node's own line");
      each = slots;
    }
    nodes_ = count;
    if (each.value_or(0) > 0) per_node_ = each;
    if (count > 1) Note("start the line on each of these hosts: ms-worker starts nothing on other machines");
  }

  void TakeVariable(const Option& option, const std::string& shown, const Words& values) {
    std::string variable = values[0];
    if (option.meaning == Meaning::kEnvPair) variable = absl::StrCat(values[0], "=", values[1]);
    if (option.meaning == Meaning::kMca) variable = absl::StrCat("OMPI_MCA_", values[0], "=", values[1]);
    if (option.meaning == Meaning::kVariable) variable = absl::StrCat(option.text, "=", values[0]);
    if (variable.find('=') == std::string::npos) {
      return Note(
          absl::StrCat(shown, " ", variable, " is not needed: processes inherit the environment of their node"));
    }
    flags_.push_back(absl::StrCat("--env ", ShellWord(variable)));
  }

  void TakePlacement(const std::string& shown, const std::string& value) {
    const std::vector<std::string> parts = absl::StrSplit(value, ':');
    if (parts.size() >= 3 && parts[0] == "ppr" && parts[2] == "node") {
      per_node_ = Whole(shown, parts[1]);
    } else if (parts[0] != "slot" && parts[0] != "core" && parts[0] != "node") {
      Note(absl::StrCat(shown, " ", value, " has no counterpart: --bind_core auto shares a node's CPUs out"));
    }
  }

  // Nodes, processes of each and of all, as far as they follow from each other.
  void SettleSize() {
    if (!per_node_ && !is_auto_ && launcher_->processes[0] != '\0' && !processes_)
      per_node_ = Number(launcher_->processes);
    if (!per_node_ && !is_auto_ && processes_ && launcher_->name == std::string("msrun")) per_node_ = 8;
    if (processes_ && per_node_ && !nodes_) nodes_ = (*processes_ + *per_node_ - 1) / *per_node_;
    if (!nodes_) nodes_ = 1;
    if (processes_ && !per_node_) per_node_ = *processes_ / *nodes_;
    if (!processes_ && per_node_) processes_ = *nodes_ * *per_node_;
    if (processes_ && per_node_ && uint64_t{*nodes_} * *per_node_ != *processes_) {
      Note(absl::StrCat(*processes_, " processes are not ", *nodes_, " nodes times ", *per_node_,
                        ": write --local_worker_num for each node"));
    }
    if (!processes_ && !is_auto_)
      Fail(absl::StrCat("the line has no number of processes (", launcher_->name, " -np N)"));
  }

  void WriteSize(Words& line) {
    const std::string slots = is_auto_ ? "auto" : absl::StrCat(per_node_.value_or(0));
    if (*nodes_ == 1 || is_standalone_) {
      line.push_back("--standalone");
    } else {
      if (host_.empty()) Note("put the first node's name in the place of HOST");
      line.push_back(absl::StrCat("--with_scheduler --sched_host ", host_.empty() ? "HOST" : ShellWord(host_)));
      if (!port_.empty()) line.push_back(absl::StrCat("--sched_port ", ShellWord(port_)));
      if (processes_) {
        line.push_back(absl::StrCat("--worker_num ", *processes_));
      } else {
        line.push_back("--worker_num N");
        Note("put the number of all processes in the place of N");
      }
    }
    line.push_back(absl::StrCat("--local_worker_num ", slots));
  }

  void WriteCommand(Words& line) {
    const std::string python = python_.empty() ? "python3" : python_;
    const bool is_script = absl::EndsWith(command_[0], ".py") || python_.empty();
    if (launcher_->starts_python && is_module_) {
      line.push_back(absl::StrCat(ShellWord(python), " -m"));
    } else if (launcher_->starts_python && !is_as_typed_ && (is_script || launcher_->gives_local_rank) &&
               !IsPython(command_[0])) {
      line.push_back(ShellWord(python));
    }
    if (is_as_typed_) line.insert(line.end() - 1, "--no_python");
    line.push_back(ShellWord(command_[0]));
    if (launcher_->gives_local_rank && has_argument_) {
      line.push_back("--local_rank={local_rank}");
      Note(
          "--local_rank={local_rank} is the argument that torch.distributed.launch adds (--local-rank from PyTorch 2.0 "
          "on); leave it out for a script that reads LOCAL_RANK");
    }
    for (auto word = command_.begin() + 1; word != command_.end(); ++word) line.push_back(ShellWord(*word));
  }

  void Write() {
    SettleSize();
    if (!out_.error.empty()) return;
    Words line;
    for (const std::string& assignment : assignments_) {
      const size_t equals = assignment.find('=');
      line.push_back(assignment.substr(0, equals + 1) +
                     (equals + 1 == assignment.size() ? "" : ShellWord(assignment.substr(equals + 1))));
    }
    line.push_back("ms-worker");
    WriteSize(line);
    line.insert(line.end(), flags_.begin(), flags_.end());
    line.push_back("--");
    WriteCommand(line);
    out_.line = absl::StrJoin(line, " ");
  }

  size_t at_ = 0;
  const Launcher* launcher_ = nullptr;
  std::string python_;  // the launcher's own; empty: it did not say
  Words assignments_, flags_, command_;
  std::optional<uint32_t> processes_, per_node_, nodes_;
  std::string host_, port_;
  bool is_auto_ = false, is_standalone_ = false, is_module_ = false, is_as_typed_ = false, has_argument_ = true;
  Converted out_;
};

}  // namespace

Converted Convert(const std::vector<std::string>& words) { return Converter().Run(words); }

}  // namespace muster::ctl
