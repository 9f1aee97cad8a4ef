// A value that ms-worker's own parser refuses is left out, with a note.
//
// The command: a script of Python's (torchrun, msrun) runs under the launcher's own python; others as they stand.
#include "ctl/convert/launcher_line.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/command/python_target.h"
#include "common/command/shell_words.h"
#include "common/sys/file_io.h"
#include "ctl/convert/count.h"
#include "ctl/convert/hosts.h"
#include "ctl/convert/job_size.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::ctl {
namespace {

using Words = std::vector<std::string>;

constexpr size_t kMostHostFileBytes = size_t{64} << 10;

// Open MPI's parameters of how it reaches and starts its daemons.
constexpr std::string_view kOfRuntime[] = {"plm",   "rsh", "oob",    "orte",    "prte", "ras",    "rmaps",
                                           "odls",  "ess", "routed", "grpcomm", "iof",  "errmgr", "state",
                                           "filem", "rml", "schizo", "rtc",     "pls"};

template <size_t kCount>
bool IsOneOf(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Several options may be meant by the beginning of a name: then none.
const Option* FindOption(const std::vector<Option>& options, const std::string& name, bool abbreviates) {
  const Option* found = nullptr;
  for (const Option& option : options) {
    for (const char* known : option.names) {
      if (name == known) return &option;
      if (!abbreviates || !absl::StartsWith(known, name)) continue;
      if (found != nullptr && found != &option) abbreviates = false;
      found = &option;
    }
  }
  return abbreviates ? found : nullptr;
}

// Why ms-worker refuses the setting; empty: it takes it. What a variable holds is not known.
std::string WhyRefused(const std::string& flag, const std::string& value) {
  if (absl::StrContains(value, "$")) return "";
  agent::AgentSettings settings;
  const SettingsTable table = agent::AgentSettingsTable(settings);
  for (const Setting& setting : table.settings()) {
    const bool is_this = setting.flag == flag || std::count(setting.aliases.begin(), setting.aliases.end(), flag) != 0;
    if (!is_this || setting.parse == nullptr) continue;
    const absl::Status parsed = setting.parse(value);
    return parsed.ok() ? "" : std::string(parsed.message());
  }
  return "";
}

class Converter {
 public:
  explicit Converter(LauncherLine line) : line_(std::move(line)), launcher_(line_.launcher) {}

  Converted Run() {
    for (size_t at = 0; at < line_.options.size() && out_.error.empty();) ReadOption(line_.options, at);
    ReadOptions();
    if (out_.error.empty()) Write();
    if (!out_.error.empty()) out_.line.clear();
    return std::move(out_);
  }

 private:
  void Fail(const std::string& why) {
    if (out_.error.empty()) out_.error = why;
  }
  void Note(const std::string& note) { out_.notes.push_back(note); }

  void ReadOptions() {
    const Words& words = line_.words;
    size_t at = 0;
    while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && out_.error.empty()) {
      if (words[at] == "--") {
        ++at;
        break;
      }
      ReadOption(words, at);
    }
    if (!out_.error.empty()) return;
    if (at >= words.size()) return Fail("the line has no command behind the launcher's options");
    command_.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    typed_.assign(line_.typed.begin() + static_cast<std::ptrdiff_t>(at), line_.typed.end());
    const bool may_be_options = command_[0][0] == '$' && command_.size() > 1 && command_[1][0] != '-';
    if (may_be_options) {
      Fail(absl::StrCat(command_[0], " may hold options of ", launcher_->name, ": write what it holds in its place"));
    }
    if (launcher_->options == MpiOptions() && std::count(command_.begin(), command_.end(), ":") > 0) {
      Fail("several programs at once (:) have no counterpart: a job has one command");
    }
  }

  void ReadOption(const Words& words, size_t& at) {
    const std::string typed = words[at++];
    const size_t equals = typed.find('=');
    const std::string shown = typed.substr(0, equals);
    const size_t begin = std::min(shown.find_first_not_of('-'), shown.size());
    const std::string name = absl::StrReplaceAll(shown.substr(begin), {{"-", "_"}});
    const Option* option =
        FindOption(*launcher_->options, name, launcher_->abbreviates && begin == 2 && name.size() > 1);
    if (option == nullptr) {
      return Fail(absl::StrCat(shown, " is no option of ", launcher_->name,
                               " that is known here: take it out, convert the rest, and see `ms-worker --help`"));
    }
    TakeWithValues(*option, shown, equals, words, at);
  }

  void TakeWithValues(const Option& option, const std::string& shown, size_t equals, const Words& words, size_t& at) {
    const auto wanted = static_cast<size_t>(option.values);
    Words values;
    if (equals != std::string::npos && wanted > 0) values.push_back(words[at - 1].substr(equals + 1));
    while (values.size() < wanted && at < words.size()) values.push_back(words[at++]);
    if (values.size() < wanted) return Fail(absl::StrCat(shown, " needs a value"));
    values.resize(2);
    Take(option, shown, values);
  }

  void Take(const Option& option, const std::string& shown, const Words& values) {
    switch (option.meaning) {
      case Meaning::kProcesses:
        size_.processes = Whole(shown, values[0]);
        break;
      case Meaning::kPerNode:
        TakePerNode(shown, values[0]);
        break;
      case Meaning::kNodes:
        TakeNodes(shown, values[0]);
        break;
      case Meaning::kNodeRank:
        AddFlag("node_rank", values[0], shown);
        break;
      case Meaning::kHost:
        host_ = WithoutPort(values[0]);
        break;
      case Meaning::kPort:
        port_ = values[0];
        break;
      case Meaning::kHosts:
        TakeHosts(shown, ParseHosts(values[0]));
        break;
      case Meaning::kHostFile:
        TakeHostFile(shown, values[0]);
        break;
      case Meaning::kFlag:
        AddFlag(option.text, values[0], shown);
        break;
      case Meaning::kSwitch:
        if (values[0] != "none") flags_.push_back(absl::StrCat("--", absl::StrReplaceAll(option.text, {{"=", " "}})));
        break;
      case Meaning::kRestarts:
        if (values[0] != "0" && AddFlag("max_restarts", values[0], shown)) {
          flags_.insert(flags_.end() - 1, "--enable_recovery");
        }
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
      case Meaning::kStreams:
        (option.text == std::string_view("tee") ? tee_ : redirects_) = values[0];
        break;
      case Meaning::kJoin:
        TakeJoin(shown, values[0]);
        break;
      case Meaning::kPlacement:
        TakePlacement(shown, values[0]);
        break;
      case Meaning::kByNode:
        size_.is_by_node = true;
        break;
      case Meaning::kMpiArgs:
        TakeMpiArgs(shown, values[0]);
        break;
      case Meaning::kEnv:
      case Meaning::kEnvPair:
      case Meaning::kMca:
      case Meaning::kVariable:
      case Meaning::kSetVariable:
        TakeVariable(option, shown, values);
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

  bool AddFlag(const std::string& flag, const std::string& value, const std::string& shown) {
    const std::string why = WhyRefused(flag, value);
    if (why.empty()) {
      flags_.push_back(absl::StrCat("--", flag, " ", ShownValue(value)));
      return true;
    }
    Note(absl::StrCat(shown, " ", value, " is left out: --", flag, " ", why));
    return false;
  }

  std::optional<Count> Whole(const std::string& shown, const std::string& value) {
    std::optional<Count> count = Count::Of(value);
    if (!count) {
      Fail(absl::StrCat(shown, " is ", value.empty() ? "empty" : value, ", but must be a whole number from 1 on"));
    }
    return count;
  }

  void TakePerNode(const std::string& shown, const std::string& value) {
    constexpr std::string_view kOfDevices[] = {"auto", "gpu", "npu", "xpu", "cuda"};
    if (IsOneOf(kOfDevices, value)) {
      size_.is_auto = true;
    } else if (value == "cpu") {
      Fail(absl::StrCat(shown, " cpu has no counterpart: write the number of processes"));
    } else {
      size_.per_node = Whole(shown, value);
    }
  }

  void TakeNodes(const std::string& shown, const std::string& value) {
    const size_t colon = absl::StartsWith(value, "$") ? std::string::npos : value.find(':');
    size_.nodes = Whole(shown, colon == std::string::npos ? value : value.substr(colon + 1));
    if (colon != std::string::npos && size_.nodes && value.substr(colon + 1) != value.substr(0, colon)) {
      Note(absl::StrCat(shown, " ", value, ": the size of a job is fixed, here at the most, ", size_.nodes->Text(),
                        " nodes; where fewer may do, write it for those, and --spare on the others"));
    }
  }

  void TakeHosts(const std::string& shown, absl::StatusOr<std::vector<HostSlots>> hosts) {
    if (!hosts.ok()) return Fail(absl::StrCat(shown, ": ", hosts.status().message()));
    size_.hosts = *std::move(hosts);
  }

  void TakeHostFile(const std::string& shown, const std::string& file) {
    const absl::StatusOr<std::string> text = ReadSmallFile(file, kMostHostFileBytes);
    if (text.ok()) return TakeHosts(absl::StrCat(shown, " ", file), ParseHostFile(*text));
    Fail(absl::StrCat(shown, " ", file, " can't be read here, so the hosts are not known (", text.status().message(),
                      "): write -H HOST1:SLOTS,HOST2:SLOTS in its place, or convert the line where the file is"));
  }

  void TakeJoin(const std::string& shown, const std::string& value) {
    if (absl::EqualsIgnoreCase(value, "true") || value == "1") return;
    Note(
        absl::StrCat(shown, " ", value,
                     " has no counterpart: ms-worker stays until its processes have ended; nohup before the line and & "
                     "after it put it in the background"));
  }

  void TakeMpiArgs(const std::string& shown, const std::string& value) {
    for (const ShellCommand& part : ShellCommands(value)) {
      for (size_t at = 0; at < part.words.size();) {
        const std::string word = part.words[at++];
        const size_t begin = std::min(word.find_first_not_of('-'), word.size());
        const std::string name = absl::StrReplaceAll(word.substr(begin), {{"-", "_"}});
        const Option* option = begin == 0 ? nullptr : FindOption(*MpiOptions(), name, false);
        if (option != nullptr) {
          TakeWithValues(*option, word, std::string::npos, part.words, at);
        } else {
          Note(
              absl::StrCat(shown, ": ", word,
                           " is not known here; --env OMPI_MCA_NAME=VALUE is -mca NAME VALUE, and what is about ssh is "
                           "not needed"));
        }
      }
    }
  }

  void TakeVariable(const Option& option, const std::string& shown, const Words& values) {
    std::string variable = values[0];
    if (option.meaning == Meaning::kEnvPair) variable = absl::StrCat(values[0], "=", values[1]);
    if (option.meaning == Meaning::kVariable) variable = absl::StrCat(option.text, "=", values[0]);
    if (option.meaning == Meaning::kSetVariable) variable = option.text;
    if (option.meaning == Meaning::kMca) {
      if (IsOneOf(kOfRuntime, values[0].substr(0, values[0].find('_')))) return;  // there are no daemons
      variable = absl::StrCat("OMPI_MCA_", values[0], "=", values[1]);
    }
    if (variable.find('=') == std::string::npos) {
      return Note(
          absl::StrCat(shown, " ", variable, " is not needed: processes inherit the environment of their node"));
    }
    AddFlag("env", variable, shown);
  }

  void TakePlacement(const std::string& shown, const std::string& value) {
    const std::vector<std::string> parts = absl::StrSplit(value, ':');
    if (parts.size() >= 3 && parts[0] == "ppr" && parts[2] == "node") {
      size_.per_node = Whole(shown, parts[1]);
    } else if (parts[0] == "node") {
      size_.is_by_node = true;
    } else if (parts[0] != "slot" && parts[0] != "core") {
      Note(absl::StrCat(shown, " ", value, " has no counterpart: --bind_core auto shares a node's CPUs out"));
    }
  }

  void WriteSize(Words& line) {
    if (is_standalone_ || (size_.nodes->number == 1 && !size_.names_hosts)) {
      line.emplace_back("--standalone");
    } else {
      if (!size_.processes) {
        return Fail("the number of all processes has to be known where there are several nodes: write it for auto");
      }
      line.push_back(absl::StrCat("--with_scheduler --sched_host ", SchedHost()));
      if (!port_.empty() && AddFlag("sched_port", port_, "the port")) {
        line.push_back(flags_.back());
        flags_.pop_back();
      }
      line.push_back(absl::StrCat("--worker_num ", ShownNumber(*size_.processes)));
    }
    line.push_back(absl::StrCat("--local_worker_num ", size_.is_auto ? "auto" : ShownNumber(*size_.per_node)));
  }

  static std::string ShownNumber(const Count& count) {
    return count.is_known() ? count.Text() : absl::StrCat("\"", count.Text(), "\"");
  }

  std::string SchedHost() {
    std::string why;
    if (IsEachMachineItself(host_)) {
      why = absl::StrCat(": ", host_, " is another machine on each node");
    } else if (!host_.empty()) {
      why = WhyRefused("sched_host", host_);
      if (why.empty()) return ShownValue(host_);
      why = absl::StrCat(": ", host_, " is refused, since it ", why);
    }
    Note(absl::StrCat("put the first node's name in the place of HOST", why));
    return "HOST";
  }

  // Both streams of a process stay together.
  void WriteStreams() {
    const auto is_set = [](const std::string& streams) { return !streams.empty() && streams != "0"; };
    const bool has_folder = std::any_of(flags_.begin(), flags_.end(),
                                        [](const std::string& flag) { return absl::StartsWith(flag, "--log_dir "); });
    for (const auto& [name, streams] : {std::pair("redirects", &redirects_), std::pair("tee", &tee_)}) {
      if (is_set(*streams) && *streams != "3") {
        Note(absl::StrCat("--", name, " ", *streams, " is taken for 3: stdout and stderr of a process stay together"));
      }
    }
    if (is_set(redirects_) && !has_folder) {
      Note("--redirects needs a folder here: add --log_dir FOLDER");
    } else if (is_set(redirects_)) {
      flags_.emplace_back("--redirects 3");
    }
    if (is_set(tee_)) flags_.emplace_back("--tee 3");
  }

  void WriteCommand(Words& line) {
    const std::string python = line_.python.empty() ? "python3" : line_.python;
    const bool is_script = absl::EndsWith(command_[0], ".py") || line_.python.empty();
    if (launcher_->starts_python && is_module_) {
      line.push_back(absl::StrCat(ShellWord(python), " -m"));
    } else if (launcher_->starts_python && !is_as_typed_ && (is_script || launcher_->gives_local_rank) &&
               !IsPython(BaseName(command_[0]))) {
      line.push_back(ShellWord(python));
    }
    if (is_as_typed_) line.insert(line.end() - 1, "--no_python");
    line.push_back(typed_[0]);
    if (launcher_->gives_local_rank && has_argument_) {
      line.emplace_back("--local_rank={local_rank}");
      Note(
          "--local_rank={local_rank} is the argument that torch.distributed.launch adds (--local-rank from PyTorch 2.0 "
          "on); leave it out for a script that reads LOCAL_RANK");
    }
    line.insert(line.end(), typed_.begin() + 1, typed_.end());
  }

  void Write() {
    Fail(SettleSize(*launcher_, size_, out_.notes));
    if (!out_.error.empty()) return;
    if (host_.empty() && !size_.hosts.empty()) host_ = size_.hosts[0].name;
    Words line = line_.before;
    line.emplace_back("ms-worker");
    WriteSize(line);
    WriteStreams();
    line.insert(line.end(), flags_.begin(), flags_.end());
    line.emplace_back("--");
    WriteCommand(line);
    out_.line = absl::StrJoin(line, " ");
  }

  LauncherLine line_;
  const Launcher* launcher_;
  Words flags_, command_, typed_;
  JobSize size_;
  std::string host_, port_, redirects_, tee_;
  bool is_standalone_ = false, is_module_ = false, is_as_typed_ = false, has_argument_ = true;
  Converted out_;
};

}  // namespace

std::string ShownValue(const std::string& value) {
  if (!absl::StrContains(value, "$")) return ShellWord(value);
  return absl::StrCat("\"", absl::StrReplaceAll(value, {{"\"", "\\\""}}), "\"");
}

Converted ConvertLauncher(LauncherLine line) { return Converter(std::move(line)).Run(); }

}  // namespace muster::ctl
