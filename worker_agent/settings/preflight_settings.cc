#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "worker_agent/settings/table_parts.h"

namespace muster::agent {

namespace {

// Parses "none", or some of the words, in any order. Returns them in their order here.
absl::StatusOr<std::string> ParseChecks(const std::string& text) {
  if (text == "none") return text;
  std::vector<std::string> given;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    given.emplace_back(absl::StripAsciiWhitespace(word));
  }
  std::vector<std::string> checks;
  for (const char* known : {"host", "command", "ring"}) {
    if (std::erase(given, known) > 0) checks.emplace_back(known);
  }
  if (given.empty()) return absl::StrJoin(checks, ",");
  return absl::InvalidArgumentError("must be none, or some of host, command and ring, with commas between them");
}

}  // namespace

void AddPreflight(SettingsTable& table, AgentSettings& s) {
  Setting& preflight = table.AddString(
      "preflight", &s.preflight,
      "Checks before the start. host: checks this machine and its devices, and compares the nodes. command: runs the "
      "command of --node_check. ring: all ranks check their links (ms-ring); set it on every node or on none.");
  preflight.parse = [&s](const std::string& text) -> absl::Status {
    absl::StatusOr<std::string> checks = ParseChecks(text);
    if (!checks.ok()) return checks.status();
    s.preflight = *std::move(checks);
    return absl::OkStatus();
  };
  preflight.Value("CHECK[,CHECK]").Env({"MS_PREFLIGHT"}).Default("none");
  table
      .AddChoice("preflight_fatal", &s.preflight_fatal, {"warning", "error"},
                 "Lowest severity of a finding of --preflight host that keeps the node from starting.")
      .Env({"MS_PREFLIGHT_FATAL"});
  table
      .AddString("node_check", &s.node_check,
                 "Command for /bin/sh that checks this node, with --preflight command. The node takes part only if it "
                 "ends with 0. Runs before the first round, and after a failure that may come from this node. Its last "
                 "line may be muster-score=SECONDS, which is compared between the nodes.")
      .Value("COMMAND")
      .Env({"MS_NODE_CHECK"});
  table
      .AddSeconds("node_check_timeout", &s.node_check_timeout, absl::Seconds(1), absl::Hours(1),
                  "How long the command of --node_check may take; then it is killed, and the node takes no part.")
      .Env({"MS_NODE_CHECK_TIMEOUT"});
  Setting ratio;
  ratio.flag = "straggler_ratio";
  ratio.value_name = "NUMBER";
  ratio.env = {"MS_STRAGGLER_RATIO"};
  ratio.help = "A node is slow if its score of --node_check is over so many times the median of all nodes.";
  ratio.range_text = "above 1 to 1000";
  ratio.parse = [&s](const std::string& text) -> absl::Status {
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !(number > 1 && number <= 1000)) {
      return absl::InvalidArgumentError("must be a number above 1, at most 1000");
    }
    s.straggler_ratio = number;
    return absl::OkStatus();
  };
  ratio.show = [&s] { return absl::StrCat(s.straggler_ratio); };
  table.Add(std::move(ratio));
  table
      .AddBool("exclude_stragglers", &s.excludes_stragglers,
               "If this node is slow by --straggler_ratio and a spare fits, the spare takes its place.")
      .Env({"MS_EXCLUDE_STRAGGLERS"});
}

}  // namespace muster::agent
