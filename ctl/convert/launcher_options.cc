// Reads the options of a line, by the meanings that the tables in launchers.cc give them.
#include "ctl/convert/launcher_options.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/command/shell_words.h"
#include "common/sys/file_io.h"
#include "ctl/convert/count.h"
#include "ctl/convert/hosts.h"
#include "ctl/convert/launchers.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::ctl {
namespace {

using Words = std::vector<std::string>;

constexpr size_t kMaxHostFileBytes = size_t{64} << 10;

// The first parts of the names of Open MPI's parameters for its daemons, which ms-worker does not use.
constexpr std::string_view kOfRuntime[] = {"plm",   "rsh", "oob",    "orte",    "prte", "ras",    "rmaps",
                                           "odls",  "ess", "routed", "grpcomm", "iof",  "errmgr", "state",
                                           "filem", "rml", "schizo", "rtc",     "pls"};

template <size_t kCount>
bool IsOneOf(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Returns the option with this name; null if there is none. If `abbreviates`, the beginning of a name is enough, unless
// several options begin in that way.
const Option* FindOption(const std::vector<Option>& options, const std::string& name, bool abbreviates) {
  const Option* found = nullptr;
  for (const Option& option : options) {
    for (const char* known : option.names) {
      const absl::string_view family = absl::StripSuffix(known, "*");
      if (name == known || (family != known && absl::StartsWith(name, family))) return &option;
      if (!abbreviates || !absl::StartsWith(known, name)) continue;
      if (found != nullptr && found != &option) abbreviates = false;  // ambiguous, unless a later name matches exactly
      found = &option;
    }
  }
  return abbreviates ? found : nullptr;
}

class Reader {
 public:
  explicit Reader(const LauncherLine& line) : line_(line), launcher_(line.launcher) {}

  Asked Run() {
    for (size_t at = 0; at < line_.variables.size() && out_.error.empty();) ReadOption(line_.variables, at);
    ReadAll();
    return std::move(out_);
  }

 private:
  void Fail(const std::string& why) {
    if (out_.error.empty()) out_.error = why;
  }
  void Note(const std::string& note) { out_.notes.push_back(note); }

  void ReadAll() {
    const Words& words = line_.program.words;
    size_t at = 0;
    while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && out_.error.empty()) {
      if (words[at] == "--") {
        ++at;
        break;
      }
      ReadOption(line_.program, at);
    }
    if (!out_.error.empty()) return;
    if (at >= words.size()) return Fail("the line has no command after the launcher's options");
    out_.command = line_.program.From(at);
    const Words& command = out_.command.words;
    if (MayBeOptions(command)) {
      Fail(absl::StrCat(command[0], " may hold options of ", launcher_->name, ": replace it by its value"));
    }
    if (launcher_->options == MpiOptions() && std::count(command.begin(), command.end(), ":") > 0) {
      Fail("several programs at once (:) have no counterpart: a job has one command");
    }
  }

  bool MayBeOptions(const Words& command) const {
    const std::string& first = command[0];
    if (first == "$@" || first == "$*") {
      const Words& arguments = line_.script_arguments;
      return arguments.empty() || arguments[0].find_first_of("-$") == 0;
    }
    const bool is_list = absl::StartsWith(first, "${@") || absl::StartsWith(first, "${*") ||
                         absl::EndsWith(first, "[@]}") || absl::EndsWith(first, "[*]}");
    return is_list || (first.find_first_of("$`") == 0 && command.size() > 1 && command[1][0] != '-');
  }

  void ReadOption(const Written& line, size_t& at) {
    const std::string& typed = line.words[at++];
    const size_t equals = typed.find('=');
    const std::string shown = typed.substr(0, equals);
    const size_t begin = std::min(shown.find_first_not_of('-'), shown.size());
    const std::string name = absl::StrReplaceAll(shown.substr(begin), {{"-", "_"}});
    const Option* option =
        FindOption(*launcher_->options, name, launcher_->abbreviates && begin == 2 && name.size() > 1);
    if (option == nullptr) {
      return Fail(absl::StrCat(shown, " is no option of ", launcher_->name,
                               " that is known here: remove it, convert the rest, and see `ms-worker --help`"));
    }
    TakeWithValues(*option, shown, equals != std::string::npos, line, at);
  }

  // Reads the option's values from `at` on, and applies it. `is_attached`: the first value is in the word before `at`,
  // after its "=".
  void TakeWithValues(const Option& option, const std::string& shown, bool is_attached, const Written& line,
                      size_t& at) {
    // (Hydra accepts both `-genv NAME VALUE` and `-genv NAME=VALUE`.)
    const bool is_pair_in_one =
        option.meaning == Meaning::kEnvPair && !is_attached && at < line.size() && IsAssignment(line.words[at]);
    const auto wanted = static_cast<size_t>(is_pair_in_one ? 1 : option.values);
    std::vector<OptionValue> values;
    if (is_attached && wanted > 0) {
      const std::string& word = line.words[at - 1];
      values.push_back({word.substr(word.find('=') + 1), line.ValueOf(at - 1)});
    }
    for (; values.size() < wanted && at < line.size(); ++at) values.push_back({line.words[at], line.One(at)});
    if (values.size() < wanted) return Fail(absl::StrCat(shown, " needs a value"));
    values.resize(2);  // Take and TakeVariable read two values, even if the option has fewer
    Take(option, shown, values);
  }

  void Take(const Option& option, const std::string& shown, const std::vector<OptionValue>& values) {
    const std::string& value = values[0].text;
    switch (option.meaning) {
      case Meaning::kProcesses:
        out_.size.processes = Whole(shown, value);
        break;
      case Meaning::kPerNode:
        TakePerNode(shown, value);
        break;
      case Meaning::kNodes:
        TakeNodes(shown, value);
        break;
      case Meaning::kNodeRank:
        AddFlag("node_rank", values[0], shown, out_);
        break;
      case Meaning::kHost:
        TakeHost(values[0]);
        break;
      case Meaning::kPort:
        out_.port = values[0];
        break;
      case Meaning::kHosts:
        TakeHosts(shown, ParseHosts(value));
        break;
      case Meaning::kHostFile:
        TakeHostFile(shown, value);
        break;
      case Meaning::kFlag:
        AddFlag(option.text, values[0], shown, out_);
        break;
      case Meaning::kSwitch:
        if (value != "none") out_.flags.push_back(absl::StrCat("--", absl::StrReplaceAll(option.text, {{"=", " "}})));
        break;
      case Meaning::kRestarts:
        if (value != "0" && AddFlag("max_restarts", values[0], shown, out_)) {
          out_.flags.insert(out_.flags.end() - 1, "--enable_recovery");
        }
        break;
      case Meaning::kStandalone:
        out_.is_standalone = true;
        break;
      case Meaning::kModule:
        out_.is_module = true;
        break;
      case Meaning::kAsTyped:
        out_.is_as_typed = true;
        break;
      case Meaning::kStreams:
        (option.text == std::string_view("tee") ? out_.tee : out_.redirects) = value;
        break;
      case Meaning::kJoin:
        TakeJoin(shown, value);
        break;
      case Meaning::kPlacement:
        TakePlacement(shown, value);
        break;
      case Meaning::kByNode:
        out_.size.is_by_node = true;
        break;
      case Meaning::kMpiArgs:
        TakeMpiArgs(shown, value);
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
      case Meaning::kRefused:
        Fail(absl::StrCat(shown, ": ", option.text));
        break;
      case Meaning::kDevices:
        TakeDevices(option, shown, value);
        break;
      case Meaning::kNoArgument:
        out_.gets_local_rank = false;
        break;
    }
  }

  void TakeHost(const OptionValue& value) {
    const std::string name = WithoutPort(value.text);
    out_.host = {name, name == value.text ? value.shown : ShellWordToExpand(name)};
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
      out_.size.is_auto = true;
    } else if (value == "cpu") {
      Fail(absl::StrCat(shown, " cpu has no counterpart: write the number of processes"));
    } else {
      out_.size.per_node = Whole(shown, value);
    }
  }

  void TakeNodes(const std::string& shown, const std::string& value) {
    const size_t colon = FindOutsideExpansions(value, ':');
    out_.size.nodes = Whole(shown, colon == std::string::npos ? value : value.substr(colon + 1));
    if (colon != std::string::npos && out_.size.nodes && value.substr(colon + 1) != value.substr(0, colon)) {
      Note(absl::StrCat(
          shown, " ", value, ": the size of a job is fixed, so the larger number is taken: ", out_.size.nodes->Text(),
          " nodes; if fewer are enough, write the smaller number, and start the other nodes with --spare"));
    }
  }

  void TakeHosts(const std::string& shown, absl::StatusOr<std::vector<HostSlots>> hosts) {
    if (!hosts.ok()) return Fail(absl::StrCat(shown, ": ", hosts.status().message()));
    out_.size.hosts = *std::move(hosts);
  }

  void TakeHostFile(const std::string& shown, const std::string& file) {
    const absl::StatusOr<std::string> text = ReadSmallFile(file, kMaxHostFileBytes);
    if (text.ok()) return TakeHosts(absl::StrCat(shown, " ", file), ParseHostFile(*text));
    Fail(absl::StrCat(shown, " ", file, " can't be read here, so the hosts are not known (", text.status().message(),
                      "): write -H HOST1:SLOTS,HOST2:SLOTS in its place, or convert the line where the file is"));
  }

  // Reads the devices of this machine, such as deepspeed's localhost:0,1.
  void TakeDevices(const Option& option, const std::string& shown, const std::string& value) {
    constexpr char kThisMachine[] = "localhost:";
    const std::string ids = std::string(absl::StripPrefix(value, kThisMachine));
    if (ids == value || ids.find_first_not_of("0123456789,") != std::string::npos || ids.empty()) {
      return Fail(absl::StrCat(shown, " ", value, ": ", option.text));
    }
    const std::vector<std::string> all = absl::StrSplit(ids, ',', absl::SkipEmpty());
    out_.size.per_node = Whole(shown, absl::StrCat(all.size()));
    Note(absl::StrCat(shown, " ", value, ": put CUDA_VISIBLE_DEVICES=", ids,
                      " in front of the line to name these devices"));
  }

  void TakeJoin(const std::string& shown, const std::string& value) {
    if (absl::EqualsIgnoreCase(value, "true") || value == "1") return;
    Note(absl::StrCat(shown, " ", value,
                      " has no counterpart: ms-worker stays until its processes have ended; to run it in the "
                      "background, put nohup in front of the line and & after it"));
  }

  void TakeMpiArgs(const std::string& shown, const std::string& value) {
    for (const ShellCommand& part : ShellCommands(value)) {
      const Written line{part.words, part.typed};
      for (size_t at = 0; at < line.size();) {
        const std::string& word = line.words[at++];
        const size_t begin = std::min(word.find_first_not_of('-'), word.size());
        const std::string name = absl::StrReplaceAll(word.substr(begin), {{"-", "_"}});
        const Option* option = begin == 0 ? nullptr : FindOption(*MpiOptions(), name, false);
        if (option != nullptr) {
          TakeWithValues(*option, word, false, line, at);
        } else {
          Note(absl::StrCat(shown, ": ", word,
                            " is not known here; write -mca NAME VALUE as --env OMPI_MCA_NAME=VALUE, and leave out "
                            "options about ssh"));
        }
      }
    }
  }

  void TakeVariable(const Option& option, const std::string& shown, const std::vector<OptionValue>& values) {
    OptionValue variable = values[0];
    const auto set = [&](const std::string& prefix, const OptionValue& name, const OptionValue& value) {
      variable = {absl::StrCat(prefix, name.text, "=", value.text), absl::StrCat(prefix, name.shown, "=", value.shown)};
    };
    if (option.meaning == Meaning::kEnvPair && !IsAssignment(values[0].text)) set("", values[0], values[1]);
    if (option.meaning == Meaning::kVariable) set("", {option.text, option.text}, values[0]);
    if (option.meaning == Meaning::kSetVariable) variable = {option.text, option.text};
    if (option.meaning == Meaning::kMca) {
      const std::string& name = values[0].text;
      if (IsOneOf(kOfRuntime, name.substr(0, name.find('_')))) return;  // for daemons only
      set("OMPI_MCA_", values[0], values[1]);
    }
    if (variable.text.find('=') == std::string::npos) {
      return Note(
          absl::StrCat(shown, " ", variable.text, " is not needed: processes inherit the environment of their node"));
    }
    AddFlag("env", variable, shown, out_);
  }

  void TakePlacement(const std::string& shown, const std::string& value) {
    const std::vector<std::string> parts = absl::StrSplit(value, ':');
    if (parts.size() >= 3 && parts[0] == "ppr" && parts[2] == "node") {
      out_.size.per_node = Whole(shown, parts[1]);
    } else if (parts[0] == "node") {
      out_.size.is_by_node = true;
    } else if (parts[0] != "slot" && parts[0] != "core") {
      Note(absl::StrCat(shown, " ", value,
                        " has no counterpart: --bind_core auto divides a node's CPUs among its processes"));
    }
  }

  const LauncherLine& line_;
  const Launcher* launcher_;
  Asked out_;
};

}  // namespace

Asked ReadOptions(const LauncherLine& line) { return Reader(line).Run(); }

std::string WhyRefused(const std::string& flag, const std::string& value) {
  if (value.find_first_of("$`") != std::string::npos) return "";  // a shell will expand it, so it is not known here
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

bool AddFlag(const std::string& flag, const OptionValue& value, const std::string& shown, Asked& asked) {
  const std::string why = WhyRefused(flag, value.text);
  if (why.empty()) {
    asked.flags.push_back(absl::StrCat("--", flag, " ", value.shown));
  } else {
    asked.notes.push_back(absl::StrCat(shown, " ", value.text, " is left out: --", flag, " ", why));
  }
  return why.empty();
}

}  // namespace muster::ctl
