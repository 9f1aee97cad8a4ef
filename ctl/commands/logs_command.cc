// `ms-ctl logs RANK`: shows the last output of a rank's process and, with -f, its further output.
//
// With -f, each request asks for the output after the last one. If the rank was started again, ms-ctl says so and reads
// the new process's output from its beginning. If the process writes too fast, ms-ctl says that lines are left out. It
// waits while the scheduler or an agent is away for a moment, and ends when the run has ended.
//
// Output that the rank wrote between the last request and the end of the run can't be read any more. What ms-ctl shows
// then:
//
//   the process had ended before the last request   nothing: all of its output was shown
//   the run failed because of this rank             those of the cause's last lines that were not shown yet
//   anything else                                   a note that output may be missing, and where to find it
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/show/json.h"
#include "common/show/log_text.h"
#include "common/sys/wait.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kLogsTimeout = absl::Seconds(12);  // the scheduler answers within 10 s
constexpr absl::Duration kFollowInterval = absl::Milliseconds(500);
constexpr absl::Duration kFollowPatience = absl::Seconds(30);
constexpr absl::Duration kGonePatience = absl::Seconds(5);  // longer than a restart of the scheduler takes
constexpr uint32_t kUsualLines = 100;

std::string SourceText(const v1::LogsReply& reply) {
  const v1::SlotLog& log = reply.log();
  std::string who = absl::StrCat("rank ", reply.rank(), " on ", reply.host_name(), " (node ", reply.node_id(), ")");
  if (log.pid() != 0) absl::StrAppend(&who, ", pid ", log.pid());
  if (log.round() != 0) absl::StrAppend(&who, ", round ", log.round());
  if (log.attempt() > 0) absl::StrAppend(&who, ", attempt ", log.attempt());
  if (log.has_ended()) absl::StrAppend(&who, ", has ended");
  if (!log.log_file().empty()) absl::StrAppend(&who, "; all of it is in ", log.log_file());
  return EscapeControl(who);
}

class LogReader {
 public:
  LogReader(AdminClient& client, std::string job_id, const CtlSettings& settings, uint32_t rank)
      : client_(client), settings_(settings) {
    request_.set_job_id(std::move(job_id));
    request_.set_run(settings.run);
    request_.set_rank(rank);
    request_.set_lines(settings.lines == 0 ? kUsualLines : settings.lines);
  }

  absl::Status Once(bool is_following) {
    const absl::StatusOr<v1::LogsReply> reply = client_.GetLogs(request_);
    if (!reply.ok()) {
      request_.set_lines(kMaxLogLines);  // so that a process that starts now is shown from its beginning
      return reply.status();
    }
    const v1::SlotLog& log = reply->log();
    const bool is_new = log.round() != request_.round() || log.attempt() != request_.attempt();
    if (is_new) {
      shown_.Clear();
      last_.Clear();
    }
    const bool ends_now = log.has_ended() && !last_.log().has_ended();
    if (settings_.json) {
      if (!is_following || is_new || ends_now || !log.text().empty())
        Print(settings_.follow ? LogsLineJson(request_.job_id(), *reply) : LogsJson(request_.job_id(), *reply));
    } else {
      Show(*reply, is_new, is_following, ends_now);
    }
    shown_.Add(log.text());
    request_.set_run(reply->run());
    request_.set_round(log.round());
    request_.set_attempt(log.attempt());
    request_.set_after(log.end());
    request_.set_lines(kMaxLogLines);
    last_ = *reply;
    return absl::OkStatus();
  }

  // If the run has ended, or the scheduler no longer knows it, returns the cause of its end; an empty cause if that is
  // not known. nullopt: the run goes on, as far as we know.
  std::optional<v1::Cause> End() {
    const absl::StatusOr<v1::StatusReply> status = client_.GetStatus(request_.job_id(), request_.run());
    if (absl::IsNotFound(status.status()) || (status.ok() && status->runs().empty())) return v1::Cause();
    if (!status.ok()) return std::nullopt;
    const v1::RunStatus& run = *status->runs().rbegin();
    request_.set_run(run.run());  // from now on read this run, and no later one
    is_stopping_ = run.phase() == v1::RUN_PHASE_STOPPING;
    const bool has_ended = run.phase() == v1::RUN_PHASE_SUCCEEDED || run.phase() == v1::RUN_PHASE_FAILED;
    return has_ended ? std::optional(run.outcome().cause()) : std::nullopt;
  }

  // True if the process has ended or the run is being stopped, so that no more output is to be expected.
  bool IsNearEnd() const { return last_.log().has_ended() || is_stopping_; }

  // Shows what is known of the output between the last request and the end of the run: see the table at the top.
  void ShowEnd(const v1::Cause& cause) const {
    if (last_.log().has_ended()) return;  // all of its output was read
    v1::LogsReply end = last_;
    end.set_run(request_.run());
    end.set_rank(request_.rank());
    v1::SlotLog& log = *end.mutable_log();
    log.clear_text();
    log.clear_unfinished();
    log.set_has_ended(true);
    if (cause.has_rank() && cause.rank() == request_.rank() && cause.role() != v1::ROLE_SERVER) {
      const std::vector<std::string> last_lines(cause.last_lines().begin(), cause.last_lines().end());
      const std::optional<std::vector<std::string>> rest = shown_.Rest(last_lines);
      for (const std::string& line : rest.value_or(last_lines)) absl::StrAppend(log.mutable_text(), line, "\n");
      log.set_note(rest ? "" : "the run has ended; its last lines follow, and some before them may be missing");
    } else {
      log.set_note(
          absl::StrCat("the run has ended, and the last output of rank ", request_.rank(), " may be missing: ",
                       log.log_file().empty()
                           ? absl::StrCat("`ms-ctl why ", request_.job_id(), "` has the last lines of what failed")
                           : absl::StrCat("all of it is in ", log.log_file(), " on ", end.host_name())));
    }
    log.set_has_gap(!log.note().empty());
    if (settings_.json) {
      Print(LogsLineJson(request_.job_id(), end));
      return;
    }
    if (!log.note().empty()) PrintNote(log.note());
    Print(ShownText(log.text()));
  }

 private:
  void Show(const v1::LogsReply& reply, bool is_new, bool is_following, bool ends_now) const {
    const v1::SlotLog& log = reply.log();
    if (!is_following || is_new) PrintNote(SourceText(reply));
    if (!is_following && !log.note().empty()) PrintNote(log.note());
    if (is_following && log.has_gap() && !log.text().empty()) {
      PrintNote("lines are left out here: the process writes faster than ms-ctl can read");
    }
    Print(ShownText(log.text()));
    // (With -f, don't show an unfinished line while the process runs, because the rest of it is still to come.)
    if ((ends_now || !settings_.follow) && !log.unfinished().empty()) Print(ShownText(log.unfinished()) + "\n");
  }

  static void PrintNote(const std::string& text) { std::fprintf(stderr, "ms-ctl: %s\n", EscapeControl(text).c_str()); }

  AdminClient& client_;
  const CtlSettings& settings_;
  v1::LogsRequest request_;
  v1::LogsReply last_;  // the last reply about the current process
  ShownLines shown_;    // the lines of the current process that were shown
  bool is_stopping_ = false;
};

int Follow(LogReader& reader) {
  MonotonicTime heard = Clock::System().Read().monotonic;
  while (true) {
    Pause(kFollowInterval);
    const absl::Status status = reader.Once(/*is_following=*/true);
    const MonotonicTime now = Clock::System().Read().monotonic;
    if (status.ok()) {
      heard = now;
      continue;
    }
    if (absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status)) return Complain(status);
    if (const std::optional<v1::Cause> end = reader.End()) {
      reader.ShowEnd(*end);
      return kExitSuccess;
    }
    if (absl::IsUnavailable(status) && reader.IsNearEnd() && now - heard > kGonePatience) {
      std::fprintf(stderr,
                   "ms-ctl: the scheduler has ended, as one with --once does after its job: the output of its agents "
                   "and the log files say how the job ended\n");
      return kExitSuccess;
    }
    if (now - heard > kFollowPatience) return Complain(status);
  }
}

}  // namespace

int ShowLogs(Call& call) {
  const CtlSettings& settings = call.settings;
  uint32_t rank = 0;
  if (!absl::SimpleAtoi(call.argument, &rank) || rank >= kMaxWorkers) {
    return Usage(
        absl::StrCat("logs: '", call.argument, "' is not a rank; write ms-ctl logs RANK, as in ms-ctl logs 3 -f"));
  }
  const absl::StatusOr<Steered> steered =
      ChooseSteered(call, "read the logs of", std::max(settings.timeout, kLogsTimeout));
  if (!steered.ok()) return Complain(steered.status());
  LogReader reader(*steered->client, steered->job_id, settings, rank);
  if (const absl::Status status = reader.Once(/*is_following=*/false); !status.ok()) {
    if (!settings.follow || !absl::IsFailedPrecondition(status) || reader.End()) return Complain(status);
  }
  return settings.follow ? Follow(reader) : kExitSuccess;
}

}  // namespace muster::ctl
