#include "ctl/watch/live_view.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/causes/outcome.h"
#include "common/show/render.h"
#include "common/show/screen.h"
#include "common/show/table.h"
#include "common/show/words.h"

namespace muster::ctl {
namespace {

constexpr const char* kJobSorts[] = {"state", "name", "age"};
constexpr const char* kNodeSorts[] = {"state", "name", "last heard"};
constexpr size_t kEventLines = 6;
constexpr size_t kRowsForEvents = 20;  // a terminal with fewer rows shows no events below the nodes

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Returns the place of the phase when runs are sorted: those that need a person's attention come first.
int UrgencyOf(const v1::RunStatus& run) {
  switch (run.phase()) {
    case v1::RUN_PHASE_RECOVERING:
      return 0;
    case v1::RUN_PHASE_FORMING:
      return 1;
    case v1::RUN_PHASE_STOPPING:
      return 2;
    case v1::RUN_PHASE_FAILED:
      return WasStopped(run.outcome()) ? 5 : 3;
    case v1::RUN_PHASE_RUNNING:
      return 4;
    default:
      return 5;
  }
}

int UrgencyOf(const v1::NodeStatus& node) {
  if (node.state() == "lost") return 0;
  if (node.state() == "disconnected") return 1;
  if (!node.draining().empty()) return 2;
  if (node.is_spare()) return 4;
  return node.state() == "connected" ? 3 : 5;
}

std::string KeyOf(const v1::RunStatus& run) { return absl::StrCat(run.job_id(), "/", run.run()); }

std::string WhatOf(const v1::RunStatus& run) {
  if (run.has_outcome() && run.outcome().has_cause()) return run.outcome().cause().text();
  if (!HasEnded(run.phase()) && run.has_waiting()) return run.waiting().text();
  if (!run.silent_nodes().empty()) return absl::StrCat("not heard from: ", run.silent_nodes());
  return run.has_last_abort() ? absl::StrCat("last restart: ", run.last_abort().text()) : "";
}

// Keeps at most `columns` characters.
std::string Cut(const std::string& text, size_t columns) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (++count > columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

void LiveView::Take(const v1::EventsReply& events) {
  for (const v1::JobEvent& event : events.events()) {
    events_seen_ = event.number();
    if (event.run() == run_) events_.push_back(event);
  }
  while (events_.size() > kMaxEvents) events_.pop_front();
}

const v1::RunStatus* LiveView::OpenRun() const {
  for (const v1::RunStatus& run : status_.runs()) {
    if (run.job_id() == job_id_ && run.run() == run_) return &run;
  }
  return nullptr;
}

void LiveView::OpenJob(const std::string& job_id, uint64_t run) {
  level_ = Level::kJob;
  job_id_ = job_id;
  run_ = run;
  nodes_.Clear();
  events_.clear();
  events_seen_ = 0;
  chosen_[1] = filter_[1] = "";
}

LiveView::List LiveView::Jobs() const {
  std::vector<const v1::RunStatus*> runs;
  for (const v1::RunStatus& run : status_.runs()) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(), [this](const v1::RunStatus* a, const v1::RunStatus* b) {
    const auto key = [this](const v1::RunStatus& run) {
      return std::tuple(sort_[0] == 0 ? UrgencyOf(run) : 0, sort_[0] == 2 ? run.age_ms() : 0, run.job_id(), run.run());
    };
    return key(*a) < key(*b);
  });
  Table table({{"JOB"},
               {"RUN", Align::kRight},
               {"STATE"},
               {"NODES", Align::kRight},
               {"PROCESSES", Align::kRight},
               {"RESTARTS", Align::kRight},
               {"AGE", Align::kRight},
               {"WHAT"}});
  for (const v1::RunStatus* run : runs) {
    table.AddRow({run->job_id(), absl::StrCat(run->run()), PhaseWord(*run), absl::StrCat(run->nodes_here()),
                  absl::StrCat(run->processes_running()), absl::StrCat(run->restart_count()),
                  ShortAge(absl::Milliseconds(run->age_ms())), WhatOf(*run)});
  }
  const std::vector<std::string> lines = LinesOf(table.Print());
  List list{lines.front(), {}};
  for (size_t i = 0; i < runs.size(); ++i) list.lines.push_back({KeyOf(*runs[i]), lines[i + 1]});
  return list;
}

LiveView::List LiveView::Nodes() const {
  v1::NodesReply sorted = nodes_;
  std::stable_sort(sorted.mutable_nodes()->begin(), sorted.mutable_nodes()->end(),
                   [this](const v1::NodeStatus& a, const v1::NodeStatus& b) {
                     if (sort_[1] == 0) return UrgencyOf(a) < UrgencyOf(b);
                     return sort_[1] == 1 ? a.node_id() < b.node_id() : a.last_seen_ms() > b.last_seen_ms();
                   });
  const std::vector<std::string> lines = LinesOf(RenderNodes({{job_id_, sorted}}));
  List list{lines.front(), {}};
  for (int i = 0; i < sorted.nodes_size(); ++i) {
    list.lines.push_back({sorted.nodes(i).node_id(), lines[static_cast<size_t>(i) + 1]});
  }
  return list;
}

LiveView::List LiveView::Filtered(List list) const {
  const std::string wanted = absl::AsciiStrToLower(filter_[level_ == Level::kJobs ? 0 : 1]);
  std::erase_if(list.lines,
                [&](const Line& line) { return !absl::StrContains(absl::AsciiStrToLower(line.text), wanted); });
  return list;
}

LiveView::List LiveView::Shown() const {
  if (level_ == Level::kNode) return {};
  return Filtered(level_ == Level::kJobs ? Jobs() : Nodes());
}

void LiveView::Move(int by) {
  const List list = Shown();
  if (list.lines.empty()) return;
  std::string& chosen = chosen_[level_ == Level::kJobs ? 0 : 1];
  const auto found =
      std::find_if(list.lines.begin(), list.lines.end(), [&](const Line& line) { return line.key == chosen; });
  const auto at = found == list.lines.end() ? 0 : std::distance(list.lines.begin(), found);
  const auto to = std::clamp<std::ptrdiff_t>(at + by, 0, std::ssize(list.lines) - 1);
  chosen = list.lines[static_cast<size_t>(to)].key;
}

void LiveView::Open() {
  Move(0);
  const std::string& key = chosen_[level_ == Level::kJobs ? 0 : 1];
  if (level_ == Level::kJobs) {
    for (const v1::RunStatus& run : status_.runs()) {
      if (KeyOf(run) == key) return OpenJob(run.job_id(), run.run());
    }
  } else if (level_ == Level::kJob && !key.empty()) {
    level_ = Level::kNode;
    node_id_ = key;
  }
}

bool LiveView::Back() {
  if (level_ == Level::kNode) {
    level_ = Level::kJob;
  } else if (level_ == Level::kJob) {
    level_ = Level::kJobs;
    job_id_.clear();
  }
  return true;
}

bool LiveView::Press(const KeyPress& press) {
  std::string& filter = filter_[level_ == Level::kJobs ? 0 : 1];
  if (is_typing_) {
    if (press.key == Key::kText && filter.size() < 100) filter += press.text;
    if (press.key == Key::kBackspace) {
      while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xc0) == 0x80) filter.pop_back();
      if (!filter.empty()) filter.pop_back();
    }
    if (press.key == Key::kEscape) filter.clear();
    if (press.key == Key::kEnter || press.key == Key::kEscape) is_typing_ = false;
    if (press.key == Key::kText || press.key == Key::kBackspace || is_typing_ == false) return true;
  }
  const int page = static_cast<int>(std::max<size_t>(1, page_));
  switch (press.key) {
    case Key::kUp:
      Move(-1);
      return true;
    case Key::kDown:
      Move(1);
      return true;
    case Key::kPageUp:
      Move(-page);
      return true;
    case Key::kPageDown:
      Move(page);
      return true;
    case Key::kHome:
      Move(-1'000'000);
      return true;
    case Key::kEnd:
      Move(1'000'000);
      return true;
    case Key::kEnter:
      Open();
      return true;
    case Key::kEscape:
    case Key::kBackspace:
      if (level_ != Level::kNode && !filter.empty()) {
        filter.clear();
        return true;
      }
      return Back();
    case Key::kText:
      break;
  }
  if (press.text == "q") return false;
  if (level_ == Level::kNode) return true;
  if (press.text == "/") is_typing_ = true;
  if (press.text == "s") {
    int& sort = sort_[level_ == Level::kJobs ? 0 : 1];
    sort = (sort + 1) % 3;
  }
  return true;
}

std::vector<std::string> LiveView::Events(size_t most, size_t columns, const std::string& of_node) const {
  v1::EventsReply reply;
  for (const v1::JobEvent& event : events_) {
    if (!of_node.empty() && !absl::StrContains(event.text(), absl::StrCat("node ", of_node))) continue;
    *reply.add_events() = event;
    reply.mutable_events()->rbegin()->clear_last_lines();
  }
  std::vector<std::string> lines = LinesOf(WrapLines(RenderEvents(reply, zone_), columns));
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

// Returns the lines above the list.
std::vector<std::string> LiveView::Above() const {
  if (level_ == Level::kJobs) {
    return {absl::StrCat("scheduler ", EscapeControl(where_), ", version ", EscapeControl(status_.version()), ", ",
                         status_.runs_size(), status_.runs_size() == 1 ? " run" : " runs")};
  }
  const v1::RunStatus* run = OpenRun();
  std::vector<std::string> lines =
      run != nullptr ? LinesOf(RenderRun(*run, zone_))
                     : std::vector<std::string>{absl::StrCat("job ", EscapeControl(job_id_), ", run ", run_,
                                                             ": no longer known to the scheduler")};
  if (level_ == Level::kJob) return lines;
  lines.resize(1);
  for (const v1::NodeStatus& node : nodes_.nodes()) {
    if (node.node_id() != node_id_) continue;
    const auto fact = [&](const std::string& name, const std::string& value) {
      if (!value.empty())
        lines.push_back(absl::StrCat("  ", name, std::string(12 - name.size(), ' '), EscapeControl(value)));
    };
    lines.push_back(absl::StrCat("node ", EscapeControl(node_id_), ": ", EscapeControl(node.state())));
    fact("host", node.host_name());
    fact("address", node.address());
    fact("role", absl::StrCat(RoleWord(node.role()), node.is_spare() ? ", spare" : ""));
    fact("ranks", CompressRanks({node.ranks().begin(), node.ranks().end()}));
    fact("slots", absl::StrCat(node.slots()));
    fact("last heard", node.last_seen_ms() < 0
                           ? "not since this scheduler started"
                           : absl::StrCat(ShortAge(absl::Milliseconds(node.last_seen_ms())), " ago"));
    fact("agent", absl::StrCat("pid ", node.pid(), ", version ", node.version()));
    fact("leaves", node.draining());
    fact("note", node.note());
    return lines;
  }
  lines.push_back(absl::StrCat("node ", EscapeControl(node_id_), ": it is no longer listed"));
  return lines;
}

std::string LiveView::HelpLine() const {
  if (is_typing_)
    return absl::StrCat("/", EscapeControl(filter_[level_ == Level::kJobs ? 0 : 1]),
                        "_   Enter keeps the filter, Esc clears it");
  if (level_ == Level::kNode) return "Esc back   q quit";
  const bool is_jobs = level_ == Level::kJobs;
  const std::string& filter = filter_[is_jobs ? 0 : 1];
  return absl::StrCat("Enter open   ", is_jobs ? "" : "Esc back   ", "/ filter", filter.empty() ? "" : ": ",
                      EscapeControl(filter), "   s sort: ", (is_jobs ? kJobSorts : kNodeSorts)[sort_[is_jobs ? 0 : 1]],
                      "   q quit");
}

std::string LiveView::Draw(size_t columns, size_t rows) {
  columns = std::max<size_t>(1, columns);
  rows = std::max<size_t>(2, rows);
  std::vector<std::string> lines = LinesOf(WrapLines(absl::StrJoin(Above(), "\n"), columns));
  std::vector<std::string> below;
  if (!problem_.empty()) below.push_back(absl::StrCat("! ", EscapeControl(problem_)));
  below.push_back(HelpLine());
  if (level_ == Level::kNode) {
    lines.emplace_back();
    const size_t room = rows > lines.size() + below.size() ? rows - lines.size() - below.size() : 0;
    for (std::string& line : Events(room, columns, node_id_)) lines.push_back(std::move(line));
  } else {
    if (level_ == Level::kJob && rows >= kRowsForEvents) {
      const std::vector<std::string> events = Events(kEventLines, columns, "");
      below.insert(below.begin(), events.begin(), events.end());
      below.insert(below.begin(), "");
    }
    // A long cause must leave room for some lines of the list.
    const size_t most_above = rows > below.size() + 5 ? rows - below.size() - 5 : 1;
    if (lines.size() > most_above) lines.resize(most_above);
    lines.emplace_back();
    const List list = Shown();
    lines.push_back(list.titles);
    page_ = rows > lines.size() + below.size() ? rows - lines.size() - below.size() : 1;
    const std::string& chosen = chosen_[level_ == Level::kJobs ? 0 : 1];
    const auto found =
        std::find_if(list.lines.begin(), list.lines.end(), [&](const Line& line) { return line.key == chosen; });
    const size_t at = found == list.lines.end() ? 0 : static_cast<size_t>(std::distance(list.lines.begin(), found));
    const size_t first = at < page_ ? 0 : at - page_ + 1;
    for (size_t i = first; i < std::min(list.lines.size(), first + page_); ++i) {
      const std::string text = Cut(list.lines[i].text, columns);
      lines.push_back(i == at ? absl::StrCat("\x1b[7m", text, "\x1b[0m") : text);
    }
  }
  std::string out = "\x1b[H";
  const size_t room = rows - std::min(rows, below.size());
  for (size_t i = 0; i < rows; ++i) {
    const std::string text = i < room ? (i < lines.size() ? lines[i] : "") : below[i - room];
    // Write no line break after the last row, because the terminal would scroll.
    // (Don't Cut the chosen line: it is cut already, and its escape sequences would count as characters.)
    absl::StrAppend(&out, "\x1b[2K", absl::StartsWith(text, "\x1b[7m") ? text : Cut(text, columns),
                    i + 1 < rows ? "\r\n" : "");
  }
  return out;
}

}  // namespace muster::ctl
