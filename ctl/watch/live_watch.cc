#include "ctl/watch/live_watch.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/causes/outcome.h"
#include "common/show/render.h"
#include "common/show/words.h"
#include "ctl/commands/asking.h"
#include "ctl/watch/live_view.h"
#include "ctl/watch/terminal.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kLookInterval = absl::Milliseconds(500);
constexpr absl::Duration kNodesInterval =
    absl::Seconds(2);  // asking costs more, because there may be thousands of nodes
constexpr absl::Duration kKeyPatience = absl::Milliseconds(50);

MonotonicTime Now() { return Clock::System().Read().monotonic; }

class LiveWatch {
 public:
  LiveWatch(AdminClient& client, const CtlSettings& settings)
      : client_(client),
        settings_(settings),
        view_(absl::StrCat(settings.sched_host, ":", settings.sched_port), absl::LocalTimeZone()) {}

  // Call it first: opens the named job, or the only job.
  absl::Status Begin() {
    absl::StatusOr<v1::StatusReply> status = client_.GetStatus(settings_.job_id, settings_.run);
    if (!status.ok()) return absl::IsNotFound(status.status()) ? absl::OkStatus() : status.status();
    if (status->runs_size() == 1) view_.OpenJob(status->runs(0).job_id(), status->runs(0).run());
    view_.Take(*std::move(status));
    return absl::OkStatus();
  }

  // Runs until a named job ends, and returns its last state; or until the user quits, and returns none.
  std::optional<v1::RunStatus> Run() {
    Terminal terminal;
    std::string typed;
    while (true) {
      if (Now() >= next_) Ask();
      if (std::optional<v1::RunStatus> ended = Ended()) return ended;
      if (terminal.TakeDamage()) drawn_.clear();
      const Terminal::Size size = terminal.size();
      if (std::string picture = view_.Draw(size.columns, size.rows); picture != drawn_) {
        terminal.Write(picture);
        drawn_ = std::move(picture);
      }
      const bool is_waiting = !typed.empty();  // the rest of a key's sequence may still come
      const size_t before = typed.size();
      if (!terminal.Read(typed, is_waiting ? kKeyPatience : std::max(next_ - Now(), absl::ZeroDuration()))) return {};
      const std::string job = view_.job_id();
      for (const KeyPress& press : TakeKeys(typed, is_waiting && typed.size() == before)) {
        if (!view_.Press(press)) return {};
      }
      if (view_.job_id() != job) next_ = next_nodes_ = Now();
    }
  }

  bool is_lost() const { return is_lost_; }

 private:
  void Ask() {
    absl::Status status = AskAll();
    is_lost_ = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
    view_.SetProblem(status.ok() ? "" : absl::StrCat("trying again: ", std::string(status.message())));
    next_ = Now() + kLookInterval;
  }

  absl::Status AskAll() {
    absl::StatusOr<v1::StatusReply> status = client_.GetStatus(settings_.job_id, settings_.run);
    if (absl::IsNotFound(status.status())) status = v1::StatusReply();  // the job does not exist yet
    if (!status.ok()) return status.status();
    view_.Take(*status);
    status_ = *std::move(status);
    if (view_.job_id().empty()) return absl::OkStatus();
    const absl::StatusOr<v1::EventsReply> events = client_.ListEvents(view_.job_id(), view_.events_seen());
    if (!events.ok()) return events.status();
    view_.Take(*events);
    if (Now() < next_nodes_) return absl::OkStatus();
    absl::StatusOr<v1::NodesReply> nodes = client_.ListNodes(view_.job_id(), view_.run());
    if (!nodes.ok()) return nodes.status();
    view_.Take(*std::move(nodes));
    next_nodes_ = Now() + kNodesInterval;
    return absl::OkStatus();
  }

  std::optional<v1::RunStatus> Ended() const {
    if (!settings_.is_job_on_line || status_.runs_size() != 1 || !HasEnded(status_.runs(0).phase())) return {};
    return status_.runs(0);
  }

  AdminClient& client_;
  const CtlSettings& settings_;
  LiveView view_;
  v1::StatusReply status_;
  std::string drawn_;
  MonotonicTime next_ = Now(), next_nodes_ = next_;
  bool is_lost_ = false;
};

}  // namespace

bool CanWatchLive(const CtlSettings& settings) { return !settings.plain && !settings.json && IsScreen(); }

int WatchLive(AdminClient& client, const CtlSettings& settings) {
  LiveWatch watch(client, settings);
  if (const absl::Status begun = watch.Begin(); !begun.ok()) return Complain(begun);
  const std::optional<v1::RunStatus> ended = watch.Run();
  if (!ended) return watch.is_lost() ? kExitSchedulerLost : kExitSuccess;
  Print(RenderRun(*ended, absl::LocalTimeZone()));
  return muster::ExitCodeOf(ended->outcome());
}

}  // namespace muster::ctl
