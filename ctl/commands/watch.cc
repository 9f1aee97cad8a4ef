// `ms-ctl watch --plain`, also used without a terminal: prints status and events live, until the job ends.
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
// A scheduler that exits right after a handshake looks like one that refuses our certificate.
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

  // Asks once. Returns the exit code once the run has ended, or an error, which may be temporary.
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
    return std::optional<int>(run.outcome().succeeded() ? kExitSuccess : kExitJobFailed);
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
  std::string job_id_;  // empty until there is one
  uint64_t run_ = 0;
  uint64_t events_seen_ = 0;
  bool has_said_waiting_ = false;
};

int ExitCodeOf(const absl::Status& status, bool was_reached) {
  // A user who may not look (any more) can't see how the job ends.
  if (absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status)) return kExitSecurity;
  if (!absl::IsUnavailable(status)) return kExitJobFailed;
  return was_reached ? kExitSchedulerLost : kExitUnreachable;
}

absl::Duration PatienceWith(const absl::Status& status) {
  if (absl::IsUnavailable(status)) return kPatience;
  return absl::IsUnauthenticated(status) ? kPatienceWithTls : absl::ZeroDuration();
}

std::string WordsOf(const absl::Status& status) { return EscapeControl(std::string(status.message())); }

// Asks each half second. Waits for a first job if there is none. Returns 0 or 1 as the job ends; 14 if the scheduler
// can't be reached for ten seconds before that; 15 if it is not trusted, rejects our certificate (2 s after it last
// answered) or refuses the request; 10 if it was never reached.
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
    } else if (absl::IsResourceExhausted(step.status())) {  // a full disk, too many calls: the job goes on
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

// A watch may outlive its certificate and the revocation lists that it started with.
int FollowJobs(Call& call) {
  if (call.tls != nullptr) {  // the client checks at each call
    if (const absl::Status started = call.tls->Start([] {}); !started.ok()) return Complain(started);
  }
  const int code =
      CanWatchLive(call.settings) ? WatchLive(*call.client, call.settings) : Watch(*call.client, call.settings);
  if (call.tls != nullptr) call.tls->Stop();  // its thread logs, so it must not outlive main
  return code;
}

}  // namespace muster::ctl
