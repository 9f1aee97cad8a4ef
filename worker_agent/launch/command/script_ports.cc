// A line of the script                               the port that it fixes
//
// os.environ["MASTER_PORT"] = "29500", = str(29500)  29500
// … = os.environ.get("PORT", …)                      none: the script uses the port that it is given
// … = str(args.port), = find_free_port()             computed
// init_method="tcp://node1:29500"                    29500
// init_method=f"tcp://{host}:{port}"                 computed
// MASTER_PORT = 29500                                none: what the script does with it is not known
#include "worker_agent/launch/command/script_ports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/sys/file_io.h"
#include "worker_agent/launch/command/launchers.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxPorts = 4;
constexpr size_t kMaxScriptBytes = size_t{1} << 20;

void Skip(absl::string_view letters, absl::string_view& text) {
  while (!text.empty() && letters.find(text.front()) != absl::string_view::npos) text.remove_prefix(1);
}

class Finder {
 public:
  // Notes a port. `digits`: text that should begin with the port's digits.
  void Take(absl::string_view digits) {
    size_t size = 0;
    while (size < digits.size() && absl::ascii_isdigit(static_cast<unsigned char>(digits[size]))) ++size;
    uint32_t port = 0;
    if (size == 0) {
      found_.are_computed = true;
    } else if (absl::SimpleAtoi(digits.substr(0, size), &port) && port != 0 && port <= 65535) {
      const bool is_new = std::find(found_.ports.begin(), found_.ports.end(), port) == found_.ports.end();
      if (is_new && found_.ports.size() < kMaxPorts) found_.ports.push_back(static_cast<uint16_t>(port));
    }
  }

  // Handles an assignment to os.environ. `text`: the rest of the line after the variable's name and quote.
  void TakeAssignment(absl::string_view text) {
    Skip(" \t", text);
    if (!absl::ConsumePrefix(&text, "]")) return;
    Skip(" \t", text);
    if (!absl::ConsumePrefix(&text, "=") || absl::StartsWith(text, "=")) return;
    if (absl::StrContains(text, "environ") || absl::StrContains(text, "getenv")) return;
    Skip(" \t", text);
    absl::ConsumePrefix(&text, "str(");
    Skip("'\"", text);
    Take(text);
  }

  // Handles an address. `text`: the rest of the line after "tcp://".
  void TakeAddress(absl::string_view text) {
    text = text.substr(0, text.find_first_of("'\" \t,?"));
    const size_t colon = text.rfind(':');
    Take(colon == absl::string_view::npos ? "" : text.substr(colon + 1));
  }

  ScriptPorts Found() { return std::move(found_); }

 private:
  ScriptPorts found_;
};

// Calls `found` with the text after each `word` of the line.
template <typename Found>
void ForEach(absl::string_view line, absl::string_view word, Found found) {
  for (size_t at = line.find(word); at != absl::string_view::npos; at = line.find(word, at + word.size())) {
    found(line.substr(at + word.size()));
  }
}

}  // namespace

ScriptPorts PortsIn(std::string_view script) {
  Finder finder;
  for (absl::string_view line : absl::StrSplit(absl::string_view(script.data(), script.size()), '\n')) {
    line = line.substr(0, line.find('#'));
    for (const absl::string_view name : {"'MASTER_PORT'", "\"MASTER_PORT\""}) {
      ForEach(line, name, [&](absl::string_view behind) { finder.TakeAssignment(behind); });
    }
    if (!absl::StrContains(line, "init_method") && !absl::StrContains(line, "dist_url")) continue;
    ForEach(line, "tcp://", [&](absl::string_view behind) { finder.TakeAddress(behind); });
  }
  return finder.Found();
}

ScriptPorts PortsOfScript(const std::vector<std::string>& command) {
  std::vector<std::vector<std::string>> candidates = TrainingPrograms(command);
  candidates.insert(candidates.begin(), command);
  for (const std::vector<std::string>& words : candidates) {
    const auto script =
        std::find_if(words.begin(), words.end(), [](const std::string& word) { return absl::EndsWith(word, ".py"); });
    if (script == words.end()) continue;
    const absl::StatusOr<std::string> text = ReadSmallFile(*script, kMaxScriptBytes);
    return text.ok() ? PortsIn(*text) : ScriptPorts();
  }
  return {};
}

}  // namespace muster::agent
