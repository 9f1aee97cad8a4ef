#include "common/show/render.h"

#include <algorithm>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/show/table.h"
#include "common/show/words.h"

namespace muster {
namespace {

std::string Age(int64_t ms) { return ShortAge(absl::Milliseconds(ms)); }

std::string Count(uint32_t n, const std::string& one) { return absl::StrCat(n, " ", one, n == 1 ? "" : "s"); }

void AppendLastLines(const google::protobuf::RepeatedPtrField<std::string>& lines, const std::string& indent,
                     std::string* out) {
  for (const std::string& line : lines) absl::StrAppend(out, indent, "| ", EscapeControl(line), "\n");
}

// Returns "4 workers, 1 server": the requested numbers.
std::string SizeText(const v1::RunStatus& run) {
  std::string out = run.settings().has_worker_num() ? Count(run.settings().worker_num(), "worker") : "not set";
  if (run.settings().server_num() > 0) absl::StrAppend(&out, ", ", Count(run.settings().server_num(), "server"));
  return out;
}

std::string NodesText(const v1::RunStatus& run) {
  std::string out = absl::StrCat(Count(run.nodes_here(), "node"), " here");
  if (run.nodes_disconnected() > 0) absl::StrAppend(&out, ", ", run.nodes_disconnected(), " disconnected");
  if (run.spares() > 0) absl::StrAppend(&out, ", ", Count(run.spares(), "spare"));
  return out;
}

void AppendOutcome(const v1::Outcome& outcome, absl::TimeZone zone, std::string* out) {
  const std::string when = FormatWallTime(outcome.ended_unix_ms(), zone);
  if (!when.empty()) absl::StrAppend(out, "  ended       ", when, "\n");
  if (outcome.succeeded()) return;
  const v1::Cause& cause = outcome.cause();
  absl::StrAppend(out, "  cause       ", cause.text().empty() ? "not known" : EscapeControl(cause.text()), "\n");
  AppendLastLines(cause.last_lines(), "              ", out);
  if (!cause.log_file().empty()) {
    absl::StrAppend(out, "  log         ", EscapeControl(cause.log_file()), " on ", EscapeControl(cause.host_name()),
                    "\n");
  }
  if (!cause.remedy().empty()) absl::StrAppend(out, "  what to do  ", EscapeControl(cause.remedy()), "\n");
}

// True if no rank is behind: most ranks are at the lowest step, and the others at the next one.
bool IsInStep(const v1::ProgressStatus& progress) {
  if (!progress.has_slowest_step() || progress.watched() < 2 || progress.slowest_ranks().empty()) return false;
  return progress.fastest_step() <= progress.slowest_step() + 1 && progress.slowest_count() * 2 > progress.watched();
}

// Returns "steps 16 to 18; slowest rank 1, without change for 12 s".
std::string ProgressText(const v1::ProgressStatus& progress) {
  std::string out;
  if (progress.has_slowest_step()) {
    out = progress.slowest_step() == progress.fastest_step()
              ? absl::StrCat("step ", progress.slowest_step())
              : absl::StrCat("steps ", progress.slowest_step(), " to ", progress.fastest_step());
    absl::StrAppend(&out, "; ");
  }
  const bool is_one = progress.slowest_count() == 1;
  const std::string age = Age(static_cast<int64_t>(progress.since_progress_ms()));
  if (IsInStep(progress) || (progress.slowest_count() == progress.watched() && !is_one)) {
    return absl::StrCat(out, IsInStep(progress) ? "" : "all ", progress.watched(),
                        IsInStep(progress) ? " ranks in step" : " that show it", ", longest without change rank ",
                        progress.slowest_ranks(0), ": ", age);
  }
  absl::StrAppend(&out, is_one ? "slowest rank " : "slowest ranks ",
                  CompressRanks({progress.slowest_ranks().begin(), progress.slowest_ranks().end()}));
  if (progress.slowest_count() > static_cast<uint32_t>(progress.slowest_ranks_size())) {
    absl::StrAppend(&out, " and ", progress.slowest_count() - static_cast<uint32_t>(progress.slowest_ranks_size()),
                    " more");
  }
  return absl::StrCat(out, ", without change for ", age);
}

// Appends a run's progress, the reason if it is halted, stalled or can't be watched for hangs, and its silent nodes.
void AppendProgress(const v1::RunStatus& run, std::string* out) {
  if (run.has_progress()) absl::StrAppend(out, "  progress    ", ProgressText(run.progress()), "\n");
  if (!run.halted().empty()) absl::StrAppend(out, "  halted      ", EscapeControl(run.halted()), "\n");
  if (run.has_stall()) absl::StrAppend(out, "  stalled     ", EscapeControl(run.stall().text()), "\n");
  if (!run.not_watched().empty()) absl::StrAppend(out, "  progress    ", EscapeControl(run.not_watched()), "\n");
  if (!run.silent_nodes().empty()) absl::StrAppend(out, "  not heard   ", EscapeControl(run.silent_nodes()), "\n");
}

}  // namespace

std::string RenderRun(const v1::RunStatus& run, absl::TimeZone zone) {
  std::string out = absl::StrCat("job ", EscapeControl(run.job_id()), ", run ", run.run(), ": ", PhaseWord(run));
  if (run.round() > 0) absl::StrAppend(&out, ", round ", run.round());
  if (run.restart_count() > 0) absl::StrAppend(&out, ", ", Count(run.restart_count(), "restart"));
  absl::StrAppend(&out, "\n  size        ", SizeText(run), "\n  nodes       ", NodesText(run), "\n");
  if (run.round() > 0 && !HasEnded(run.phase())) {
    absl::StrAppend(&out, "  processes   ", run.processes_running(), " running, ", run.processes_done(), " done\n");
  }
  AppendProgress(run, &out);
  std::string opened = absl::StrCat(Age(run.age_ms()), " ago");
  const std::string when = FormatWallTime(run.opened_unix_ms(), zone);
  if (!when.empty()) absl::StrAppend(&opened, ", ", when);
  if (!run.opened_by().empty()) absl::StrAppend(&opened, ", by ", EscapeControl(run.opened_by()));
  absl::StrAppend(&out, "  opened      ", opened, "\n");
  if (!HasEnded(run.phase()) && run.has_waiting()) {
    absl::StrAppend(&out, "  waiting     ", EscapeControl(run.waiting().text()), "\n  time left   ",
                    FormatTimeLeft(run.waiting().time_left_ms()), "\n");
  }
  if (run.has_outcome()) AppendOutcome(run.outcome(), zone, &out);
  return out;
}

// Returns text such as:
//   replicas    4 alive, 2 ask: 2 of at least 3 replicas ask
std::string RenderLighthouse(const v1::LighthouseStatus& one) {
  std::string out = absl::StrCat("lighthouse ", EscapeControl(one.name()), ": ");
  if (one.quorum_id() == 0) {
    out += "no quorum yet";
  } else {
    const int rest = static_cast<int>(one.members_count()) - one.members_size();
    absl::StrAppend(&out, "quorum ", one.quorum_id(), " of ", EscapeControl(absl::StrJoin(one.members(), ", ")),
                    rest > 0 ? absl::StrCat(" and ", rest, " more") : "",
                    one.formed_ms() < 0 ? "" : absl::StrCat(", formed ", Age(one.formed_ms()), " ago"));
  }
  return absl::StrCat(out, "\n  replicas    ", one.alive(), " alive, ", one.asking(),
                      one.asking() == 1 ? " asks" : " ask", one.waiting().empty() ? "" : ": ",
                      EscapeControl(one.waiting()), "\n");
}

std::string RenderStatus(const v1::StatusReply& reply, const std::string& where, absl::TimeZone zone) {
  std::string out = absl::StrCat("scheduler ", where, ", version ", EscapeControl(reply.version()), ", up ",
                                 Age(reply.up_ms()), ", term ", reply.term(), ", cluster ",
                                 EscapeControl(reply.cluster_id()), reply.is_draining() ? ", draining" : "", "\n");
  if (reply.runs().empty()) out += "no job yet\n";
  for (const v1::RunStatus& run : reply.runs()) absl::StrAppend(&out, "\n", RenderRun(run, zone));
  for (const v1::LighthouseStatus& one : reply.lighthouses()) absl::StrAppend(&out, "\n", RenderLighthouse(one));
  return out;
}

std::string RenderNodes(const std::vector<NodesOfJob>& jobs) {
  const bool shows_job = jobs.size() > 1;
  std::vector<Column> columns = {{"NODE"},    {"STATE"},
                                 {"ROLE"},    {"HOST"},
                                 {"ADDRESS"}, {"SLOTS", Align::kRight},
                                 {"RANKS"},   {"SEEN", Align::kRight},
                                 {"NOTE"}};
  if (shows_job) columns.insert(columns.begin(), {"JOB"});
  Table table(columns);
  for (const NodesOfJob& job : jobs) {
    for (const v1::NodeStatus& node : job.reply.nodes()) {
      std::string note = node.note();
      if (!node.draining().empty()) note = absl::StrCat("leaves at the next round: ", node.draining());
      if (node.is_spare()) note = note.empty() ? "spare" : absl::StrCat("spare; ", note);
      std::vector<std::string> row = {
          node.node_id(),
          node.state(),
          RoleWord(node.role()),
          node.host_name(),
          node.address(),
          absl::StrCat(node.slots()),
          CompressRanks({node.ranks().begin(), node.ranks().end()}),
          node.last_seen_ms() < 0 ? "not yet" : absl::StrCat(Age(node.last_seen_ms()), " ago"),
          note};
      if (shows_job) row.insert(row.begin(), job.job_id);
      table.AddRow(std::move(row));
    }
  }
  return table.rows() == 0 ? "no nodes\n" : table.Print();
}

std::string RenderRanks(const std::vector<RanksOfJob>& jobs) {
  const bool shows_job = jobs.size() > 1;
  std::vector<Column> columns = {{"RANK", Align::kRight},
                                 {"ROLE"},
                                 {"NODE"},
                                 {"HOST"},
                                 {"ADDRESS"},
                                 {"LOCAL", Align::kRight},
                                 {"MACHINE", Align::kRight},
                                 {"DEVICE", Align::kRight},
                                 {"STATE"},
                                 {"PID", Align::kRight}};
  const auto any_has = [&jobs](bool (v1::RankStatus::*has)() const) {
    return std::any_of(jobs.begin(), jobs.end(), [has](const RanksOfJob& job) {
      return std::any_of(job.reply.ranks().begin(), job.reply.ranks().end(), std::mem_fn(has));
    });
  };
  const bool shows_progress = any_has(&v1::RankStatus::has_since_progress_ms);
  const bool shows_activity = any_has(&v1::RankStatus::has_cpu_percent);
  if (shows_progress) {
    columns.insert(columns.end(), {{"STEP", Align::kRight}, {"STEPS/S", Align::kRight}, {"SINCE", Align::kRight}});
  }
  if (shows_activity) columns.insert(columns.end(), {{"OUTPUT", Align::kRight}, {"CPU", Align::kRight}});
  if (shows_job) columns.insert(columns.begin(), {"JOB"});
  Table table(columns);
  for (const RanksOfJob& job : jobs) {
    for (const v1::RankStatus& rank : job.reply.ranks()) {
      std::vector<std::string> row = {absl::StrCat(rank.rank()),
                                      RoleWord(rank.role()),
                                      rank.node_id(),
                                      rank.host_name(),
                                      rank.address(),
                                      absl::StrCat(rank.local_rank()),
                                      absl::StrCat(rank.node_rank()),
                                      rank.device_id(),
                                      rank.state(),
                                      rank.pid() == 0 ? "" : absl::StrCat(rank.pid())};
      if (shows_progress) {
        row.push_back(rank.has_step() ? absl::StrCat(rank.step()) : "");
        row.push_back(rank.has_steps_per_second() ? absl::StrFormat("%.3g", rank.steps_per_second()) : "");
        row.push_back(rank.has_since_progress_ms() ? Age(static_cast<int64_t>(rank.since_progress_ms())) : "");
      }
      if (shows_activity) {
        row.push_back(rank.has_since_output_ms() ? Age(static_cast<int64_t>(rank.since_output_ms())) + " ago" : "");
        row.push_back(rank.has_cpu_percent() ? absl::StrCat(rank.cpu_percent(), "%") : "");
      }
      if (shows_job) row.insert(row.begin(), job.job_id);
      table.AddRow(std::move(row));
    }
  }
  return table.rows() == 0 ? "no ranks yet: no round has closed\n" : table.Print();
}

std::string RenderStacks(const v1::StacksReply& reply) {
  std::string out;
  for (const v1::RankStack& rank : reply.ranks()) {
    const v1::SlotStack& stack = rank.stack();
    absl::StrAppend(&out, out.empty() ? "" : "\n", "rank ", rank.rank(), " on ", EscapeControl(rank.host_name()),
                    " (node ", EscapeControl(rank.node_id()), ")",
                    stack.pid() == 0 ? "" : absl::StrCat(", pid ", stack.pid()),
                    stack.method().empty() ? "" : absl::StrCat(", by ", EscapeControl(stack.method())), "\n");
    for (const absl::string_view line : absl::StrSplit(absl::StripTrailingAsciiWhitespace(stack.text()), '\n')) {
      if (!stack.text().empty()) absl::StrAppend(&out, "  ", EscapeControl(std::string(line)), "\n");
    }
    if (!stack.note().empty()) absl::StrAppend(&out, "  (", EscapeControl(stack.note()), ")\n");
  }
  return out;
}

std::string RenderCounters(const v1::CountersReply& reply, absl::TimeZone zone) {
  Table table({{"REFUSED, OR NOTED", Align::kLeft}, {"COUNT", Align::kRight}});
  for (const v1::Counter& counter : reply.counters()) table.AddRow({counter.name(), absl::StrCat(counter.value())});
  std::string out = table.rows() == 0 ? "nothing was refused yet\n" : table.Print();
  if (reply.certificate_ends_unix_ms() != 0) {
    absl::StrAppend(&out, "the scheduler's certificate ends ", FormatWallTime(reply.certificate_ends_unix_ms(), zone),
                    "\n");
  }
  if (reply.revocation_list_ends_unix_ms() != 0) {
    absl::StrAppend(&out, "the revocation list ends ", FormatWallTime(reply.revocation_list_ends_unix_ms(), zone),
                    "\n");
  }
  return out;
}

std::string RenderWhy(const v1::RunStatus& run, absl::TimeZone zone) {
  std::string out = absl::StrCat("job ", EscapeControl(run.job_id()), ", run ", run.run(), ": ", PhaseWord(run), "\n");
  if (!HasEnded(run.phase()) && run.has_waiting()) {
    absl::StrAppend(&out, "  waiting     ", EscapeControl(run.waiting().text()), "\n");
  }
  if (run.has_last_abort()) {
    const std::string why = EscapeControl(run.last_abort().text());
    absl::StrAppend(&out, "  restarted   ", absl::StripPrefix(why, "restarted "), "\n");  // "restarted by ann"
    AppendLastLines(run.last_abort().last_lines(), "              ", &out);
    const bool is_to_be_done = run.phase() == v1::RUN_PHASE_RECOVERING;  // a run that works again needs nothing
    if (is_to_be_done && !run.last_abort().remedy().empty()) {
      absl::StrAppend(&out, "  what to do  ", EscapeControl(run.last_abort().remedy()), "\n");
    }
  }
  AppendProgress(run, &out);
  if (run.has_stall()) {
    AppendLastLines(run.stall().last_lines(), "              ", &out);
    absl::StrAppend(&out, "  what to do  ", EscapeControl(run.stall().remedy()), "\n");
  }
  if (run.has_outcome()) AppendOutcome(run.outcome(), zone, &out);
  return out;
}

std::string RenderEvents(const v1::EventsReply& reply, absl::TimeZone zone) {
  std::string out;
  for (const v1::JobEvent& event : reply.events()) {
    absl::StrAppend(&out, FormatWallTime(event.unix_ms(), zone), "  ");
    if (!event.job_id().empty()) absl::StrAppend(&out, EscapeControl(event.job_id()), "/", event.run(), "  ");
    absl::StrAppend(&out, EscapeControl(event.text()), "\n");
    AppendLastLines(event.last_lines(), "    ", &out);
  }
  return out;
}

}  // namespace muster
