// `ms-ctl watch --plain`, which is also used without a terminal: prints the status and the events of a job until it
// ends.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/causes/outcome.h"
#include "common/show/json.h"
#include "common/show/render.h"
#include "common/show/screen.h"
#include "common/show/words.h"
#include "common/sys/wait.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/choose.h"
#include "ctl/commands/handlers.h"
#include "ctl/watch/live_watch.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(500);
constexpr absl::Duration kPatience = absl::Seconds(10);
// With TLS, a scheduler that exits right after a handshake looks like one that refuses our certificate. So go on for a
// moment before giving up.
constexpr absl::Duration kPatienceWithTls = absl::Seconds(2);

size_t TerminalWidth() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void Write(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

class Watcher {
 public:
  Watcher(AdminClient& client, const CtlSettings& settings)
      : client_(client), settings_(settings), screen_(isatty(STDOUT_FILENO) == 1 && !settings.json) {}

  // Asks the scheduler once and prints what is new. Returns the exit code if the run has ended, none if it goes on. An
  // error may be temporary.
  absl::StatusOr<std::optional<int>> Step() {
    const std::string& job = job_id_.empty() ? settings_.job_id : job_id_;
    const absl::StatusOr<v1::StatusReply> status = client_.GetStatus(job, run_ == 0 ? settings_.run : run_);
    if (absl::IsNotFound(status.status()) && job_id_.empty()) return NoJobYet();
    if (!status.ok()) return status.status();
    const absl::StatusOr<std::optional<v1::RunStatus>> chosen = ChooseRun(*status, /*takes_ended=*/true);
    if (!chosen.ok()) return chosen.status();
    if (!chosen->has_value() && run_ == 0) return NoJobYet();
    if (!chosen->has_value()) {
      return absl::NotFoundError(absl::StrCat("run ", run_, " of job ", job_id_,
                                              " is no longer known to the scheduler: its last node left before it "
                                              "formed, or the scheduler was restarted without its journal"));
    }
    const v1::RunStatus& run = **chosen;
    job_id_ = run.job_id();
    run_ = run.run();
    const absl::StatusOr<v1::EventsReply> events = client_.ListEvents(job_id_, events_seen_);
    if (!events.ok()) return events.status();
    Show(run, OfThisRun(*events));
    if (!HasEnded(run.phase())) return std::optional<int>();
    ShowEnd(run);
    return std::optional<int>(muster::ExitCodeOf(run.outcome()));
  }

 private:
  std::optional<int> NoJobYet() {
    if (!has_said_waiting_ && !settings_.json) Write("no job yet; waiting for the first node to join\n");
    has_said_waiting_ = true;
    return std::nullopt;
  }

  v1::EventsReply OfThisRun(const v1::EventsReply& events) {
    v1::EventsReply out;
    for (const v1::JobEvent& event : events.events()) {
      events_seen_ = event.number();
      if (event.run() == run_) *out.add_events() = event;
    }
    return out;
  }

  void Show(const v1::RunStatus& run, const v1::EventsReply& news) {
    if (settings_.json) {
      for (const v1::JobEvent& event : news.events()) Write(EventLineJson(event));
      return;
    }
    const absl::TimeZone zone = absl::LocalTimeZone();
    Write(screen_.Update(RenderEvents(news, zone), "\n" + RenderRun(run, zone), TerminalWidth()));
  }

  void ShowEnd(const v1::RunStatus& run) {
    if (settings_.json) {
      Write(RunLineJson(run));
    } else if (isatty(STDOUT_FILENO) != 1) {
      Write(RenderRun(run, absl::LocalTimeZone()));
    }
  }

  AdminClient& client_;
  const CtlSettings& settings_;
  Screen screen_;
  std::string job_id_;  // empty until there is a job
  uint64_t run_ = 0;
  uint64_t events_seen_ = 0;
  bool has_said_waiting_ = false;
};

int ExitCodeOf(const absl::Status& status, bool was_reached) {
  // The user has no permission to look at the job, or has lost it.
  if (absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status)) return kExitSecurity;
  if (!absl::IsUnavailable(status)) return kExitJobFailed;
  return was_reached ? kExitSchedulerLost : kExitUnreachable;
}

absl::Duration PatienceWith(const absl::Status& status) {
  if (absl::IsUnavailable(status)) return kPatience;
  return absl::IsUnauthenticated(status) ? kPatienceWithTls : absl::ZeroDuration();
}

std::string WordsOf(const absl::Status& status) { return EscapeControl(std::string(status.message())); }

// Asks every half second until the job ends. If there is no job yet, waits for the first one. Returns the exit code:
//
//   0, 1   the job succeeded, or failed
//   10     the scheduler was never reached
//   14     the scheduler could not be reached for ten seconds
//   15     the scheduler is not trusted, refuses the request, or has rejected our certificate for 2 s
int Watch(AdminClient& client, const CtlSettings& settings) {
  Watcher watcher(client, settings);
  std::optional<MonotonicTime> reached;  // when the scheduler last answered
  bool has_said_busy = false;
  while (true) {
    const absl::StatusOr<std::optional<int>> step = watcher.Step();
    const MonotonicTime now = Clock::System().Read().monotonic;
    if (step.ok()) {
      if (step->has_value()) return **step;
      reached = now;
      has_said_busy = false;
    } else if (absl::IsResourceExhausted(step.status())) {  // a full disk or too many calls; the job may go on
      reached = now;
      if (!std::exchange(has_said_busy, true)) {
        std::fprintf(stderr, "ms-ctl: %s; trying again\n", WordsOf(step.status()).c_str());
      }
    } else if (const absl::Duration patience = PatienceWith(step.status());
               patience == absl::ZeroDuration() || !reached.has_value() || now - *reached > patience) {
      std::fprintf(stderr, "ms-ctl: %s\n", WordsOf(step.status()).c_str());
      return ExitCodeOf(step.status(), reached.has_value());
    }
    Pause(kInterval);
  }
}

}  // namespace

// Starts the TLS store's thread, which reloads certificates and revocation lists: a watch may outlast the ones with
// which it started.
int FollowJobs(Call& call) {
  if (call.tls != nullptr) {  // no callback is needed, because the client looks at the store at each call
    if (const absl::Status started = call.tls->Start([] {}); !started.ok()) return Complain(started);
  }
  const int code =
      CanWatchLive(call.settings) ? WatchLive(*call.client, call.settings) : Watch(*call.client, call.settings);
  if (call.tls != nullptr) call.tls->Stop();  // its thread writes to the log, so it must end before main does
  return code;
}

}  // namespace muster::ctl
