#include "common/show/report.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/causes/outcome.h"
#include "common/show/words.h"

namespace muster {
namespace {

// The policy forbids scripts and everything outside the file. It is a second protection, in case a text is not escaped.
constexpr char kHead[] = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<style>
:root { --back: #fff; --text: #1c1e21; --dim: #5c6470; --line: #d9dde3; --soft: #f3f5f8; --bad: #b3261e; --good: #14713a; --mark: #2457a8; }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --text: #e6e8eb; --dim: #9aa3ad; --line: #353b43; --soft: #1f242a; --bad: #ff8a80; --good: #7bd89b; --mark: #8ab4f8; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.dim { color: var(--dim); } .bad { color: var(--bad); } .good { color: var(--good); }
pre { background: var(--soft); padding: .6rem .8rem; margin: .3rem 0; overflow-x: auto; font: 13px/1.45 ui-monospace, monospace; }
.cause { border-left: 4px solid var(--bad); padding: .2rem 0 .2rem 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--dim); font-weight: 600; }
.strip { position: relative; height: 1.6rem; background: var(--soft); border: 1px solid var(--line); margin: .5rem 0 1rem; }
.strip i { position: absolute; top: 0; bottom: 0; width: 2px; background: var(--mark); } .strip i.bad { background: var(--bad); } .strip i.good { background: var(--good); }
ol { list-style: none; padding: 0; } ol > li { padding: .25rem 0; border-bottom: 1px solid var(--line); }
time { color: var(--dim); display: inline-block; min-width: 11rem; font-variant-numeric: tabular-nums; }
</style>
)html";

// Escapes text for HTML, also for an attribute in quotes. Replaces characters that HTML forbids by a mark.
std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
        out += is_control ? "\xEF\xBF\xBD" : std::string(1, c);
      }
    }
  }
  return out;
}

std::string Row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) absl::StrAppend(&out, "<", tag, ">", Escape(cell), "</", tag, ">");
  return out + "</tr>\n";
}

class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& titles) : rows_(Row(titles, "th")) {}
  void Add(const std::vector<std::string>& cells) {
    if (++count_ <= kMaxReportRows) rows_ += Row(cells, "td");
  }
  std::string Print() const {
    std::string out = absl::StrCat("<div class=\"wide\"><table>\n", rows_, "</table></div>\n");
    if (count_ > kMaxReportRows) {
      absl::StrAppend(&out, "<p class=\"dim\">", count_ - kMaxReportRows, " more are left out.</p>\n");
    }
    return out;
  }

 private:
  std::string rows_;
  int count_ = 0;
};

std::string Lines(const google::protobuf::RepeatedPtrField<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  return absl::StrCat("<pre>", Escape(text), "</pre>\n");
}

std::string CauseHtml(const v1::Cause& cause) {
  std::string out = absl::StrCat("<div class=\"cause\">\n<p><b>", Escape(cause.text()), "</b></p>\n");
  if (!cause.node_id().empty()) {
    absl::StrAppend(&out, "<p class=\"dim\">", cause.has_rank() ? absl::StrCat("rank ", cause.rank(), ", ") : "",
                    "node ", Escape(cause.node_id()), " on ", Escape(cause.host_name()), "</p>\n");
  }
  absl::StrAppend(&out, Lines(cause.last_lines()));
  if (!cause.log_file().empty()) absl::StrAppend(&out, "<p>Its log: ", Escape(cause.log_file()), "</p>\n");
  if (!cause.remedy().empty()) absl::StrAppend(&out, "<p>What to do: ", Escape(cause.remedy()), "</p>\n");
  return out + "</div>\n";
}

const char* ClassOf(const std::string& kind) {
  for (const char* bad : {"failed", "lost", "aborted", "failing", "gone"}) {
    if (absl::EndsWith(kind, bad)) return " class=\"bad\"";
  }
  return kind == "round_closed" || kind == "run_succeeded" ? " class=\"good\"" : "";
}

std::string Timeline(const ReportInput& input) {
  const auto& events = input.events.events();
  if (events.empty()) return "<p>The scheduler has no events of this run any more.</p>\n";
  const int first = std::max(0, events.size() - kMaxReportRows);
  const int64_t begin = events.Get(first).unix_ms();
  const int64_t span = std::max<int64_t>(events.rbegin()->unix_ms() - begin, 1);
  std::string marks, list;
  for (int i = first; i < events.size(); ++i) {
    const v1::JobEvent& event = events.Get(i);
    const double at =
        std::clamp(99.5 * static_cast<double>(event.unix_ms() - begin) / static_cast<double>(span), 0.0, 99.5);
    absl::StrAppendFormat(&marks, "<i%s style=\"left:%.2f%%\"></i>", ClassOf(event.kind()), at);
    absl::StrAppend(&list, "<li><time>", Escape(FormatWallTime(event.unix_ms(), input.zone)), "</time><span",
                    ClassOf(event.kind()), ">", Escape(event.text()), "</span>", Lines(event.last_lines()), "</li>\n");
  }
  std::string out =
      absl::StrCat("<div class=\"strip\" aria-hidden=\"true\">", marks, "</div>\n<ol>\n", list, "</ol>\n");
  if (first > 0) absl::StrAppend(&out, "<p class=\"dim\">", first, " earlier events are left out.</p>\n");
  return out;
}

std::string SettingsHtml(const v1::JobSettings& s) {
  HtmlTable table({"setting", "value"});
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  const auto ms = [](int64_t value) {
    return value < 0 ? std::string("for ever") : absl::StrCat(static_cast<double>(value) / 1000, " s");
  };
  if (s.has_worker_num()) table.Add({"workers", absl::StrCat(s.worker_num())});
  if (s.has_server_num()) table.Add({"servers", absl::StrCat(s.server_num())});
  if (s.has_enable_recovery()) table.Add({"recovery", yes(s.enable_recovery())});
  if (s.has_max_restarts()) table.Add({"restarts at most", absl::StrCat(s.max_restarts())});
  if (s.has_restart_scope()) table.Add({"restart scope", s.restart_scope()});
  if (s.has_topo_timeout_ms()) table.Add({"time to form", ms(s.topo_timeout_ms())});
  if (s.has_progress_timeout_ms())
    table.Add({"time without progress", ms(static_cast<int64_t>(s.progress_timeout_ms()))});
  if (s.has_first_progress_timeout_ms())
    table.Add({"time to the first progress", ms(static_cast<int64_t>(s.first_progress_timeout_ms()))});
  if (s.has_stall_action()) table.Add({"when it stands still", s.stall_action()});
  if (s.has_preflight()) table.Add({"preflight", s.preflight()});
  if (s.has_hccl_cm_init()) table.Add({"ranks in address order", yes(s.hccl_cm_init())});
  if (s.has_rank_table_digest()) table.Add({"rank table (SHA-256)", s.rank_table_digest()});
  return table.Print();
}

std::string VersionsHtml(const ReportInput& input) {
  std::map<std::string, int> workers;
  for (const v1::NodeStatus& node : input.nodes.nodes()) {
    if (!node.version().empty()) ++workers[node.version()];
  }
  HtmlTable table({"program", "version", "how many"});
  table.Add({"ms-scheduler", input.scheduler_version, "1"});
  for (const auto& [version, count] : workers) table.Add({"ms-worker", version, absl::StrCat(count)});
  table.Add({"ms-ctl", input.ctl_version, "1"});
  return table.Print();
}

std::string NodesHtml(const v1::NodesReply& nodes) {
  HtmlTable table({"node", "state", "role", "host", "address", "slots", "ranks", "note"});
  for (const v1::NodeStatus& node : nodes.nodes()) {
    table.Add({node.node_id(), node.is_spare() ? node.state() + ", spare" : node.state(), RoleWord(node.role()),
               node.host_name(), node.address(), absl::StrCat(node.slots()),
               CompressRanks({node.ranks().begin(), node.ranks().end()}),
               node.draining().empty() ? node.note() : "leaves at the next round: " + node.draining()});
  }
  return table.Print();
}

std::string RanksHtml(const v1::RanksReply& ranks) {
  HtmlTable table({"rank", "role", "node", "host", "local rank", "device", "state", "pid", "step"});
  for (const v1::RankStatus& rank : ranks.ranks()) {
    table.Add({absl::StrCat(rank.rank()), RoleWord(rank.role()), rank.node_id(), rank.host_name(),
               absl::StrCat(rank.local_rank()), rank.device_id(), rank.state(),
               rank.pid() == 0 ? "" : absl::StrCat(rank.pid()), rank.has_step() ? absl::StrCat(rank.step()) : ""});
  }
  return table.Print();
}

}  // namespace

std::string ReportHtml(const ReportInput& input) {
  const v1::RunStatus& run = input.run;
  const std::string name = Escape(absl::StrCat("job ", run.job_id(), ", run ", run.run()));
  const bool was_stopped = run.has_outcome() && WasStopped(run.outcome());
  const bool has_failed = run.has_outcome() && !run.outcome().succeeded() && !was_stopped;
  std::string out = absl::StrCat(kHead, "<title>Muster: ", name, "</title>\n</head>\n<body>\n<h1>", name, ": <span",
                                 has_failed ? " class=\"bad\"" : "", ">", PhaseWord(run), "</span></h1>\n");
  absl::StrAppend(&out, "<p class=\"dim\">opened ", Escape(FormatWallTime(run.opened_unix_ms(), input.zone)), " by ",
                  Escape(run.opened_by()));
  if (run.has_outcome()) {
    absl::StrAppend(&out, "; ended ", Escape(FormatWallTime(run.outcome().ended_unix_ms(), input.zone)));
  }
  absl::StrAppend(
      &out, "; round ", run.round(), ", ", run.restart_count(), run.restart_count() == 1 ? " restart" : " restarts",
      "<br>written ", Escape(FormatWallTime(absl::ToUnixMillis(input.made), input.zone)), " (",
      Escape(ZoneName(input.zone, input.made)), ") from the scheduler at ", Escape(input.scheduler), "</p>\n");
  if (has_failed) absl::StrAppend(&out, "<h2>Why it failed</h2>\n", CauseHtml(run.outcome().cause()));
  if (was_stopped) absl::StrAppend(&out, "<h2>Why it was stopped</h2>\n", CauseHtml(run.outcome().cause()));
  if (run.has_waiting())
    absl::StrAppend(&out, "<h2>What it waits for</h2>\n<p>", Escape(run.waiting().text()), "</p>\n");
  if (!run.halted().empty()) {
    absl::StrAppend(&out, "<h2>Processes that can't run</h2>\n<p>", Escape(run.halted()), "</p>\n");
  }
  if (!run.silent_nodes().empty()) {
    absl::StrAppend(&out, "<h2>Silent nodes</h2>\n<p>", Escape(run.silent_nodes()), "</p>\n");
  }
  if (run.has_last_abort()) absl::StrAppend(&out, "<h2>Why it was restarted last</h2>\n", CauseHtml(run.last_abort()));
  if (run.has_stall()) absl::StrAppend(&out, "<h2>Why it stands still</h2>\n", CauseHtml(run.stall()));
  absl::StrAppend(&out, "<h2>Timeline</h2>\n", Timeline(input));
  absl::StrAppend(&out, "<h2>Settings</h2>\n", SettingsHtml(run.settings()), "<h2>Versions</h2>\n",
                  VersionsHtml(input));
  absl::StrAppend(&out, "<h2>Nodes</h2>\n", NodesHtml(input.nodes), "<h2>Ranks</h2>\n", RanksHtml(input.ranks));
  return out + "</body>\n</html>\n";
}

}  // namespace muster
