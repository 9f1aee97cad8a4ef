// A look-up                               AwaitHost
//
// finds addresses                         returns them
// can never succeed: an empty name, or    returns the error
//   one with link-local addresses only
// does not find the name, or gets no      logs that it waits, and looks again after 1 s, then 2 s, then every 3 s;
//   answer                                ends when `patience` is over
#include "worker_agent/node/name_wait.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/mutex.h"
#include "common/net/net.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"
#include "common/sys/wait.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kAnswerPatience = absl::Seconds(3);  // short, so that the first line appears within 5 s
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kMaxPause = absl::Seconds(3);
// It logs again this long after the begin, and then every five minutes.
constexpr std::array kLookUpSayAfter = {absl::Seconds(10), absl::Seconds(30), absl::Minutes(1), absl::Minutes(2),
                                        absl::Minutes(5)};

struct Answer {
  Mutex mutex;
  std::optional<absl::StatusOr<Addresses>> found ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<Addresses> AskOnce(const std::string& host, SideThread& thread, const std::shared_ptr<Answer>& answer) {
  // Run starts no second look-up while an earlier one is still in progress.
  thread.Run(
      [host, answer] {
        absl::StatusOr<Addresses> found = ResolveHost(host);
        MutexLock lock(answer->mutex);
        answer->found = std::move(found);
      },
      kAnswerPatience);
  MutexLock lock(answer->mutex);
  if (answer->found) return *std::exchange(answer->found, std::nullopt);
  return absl::UnavailableError(absl::StrCat("no name server has answered for the host name \"", host,
                                             "\": check /etc/resolv.conf and the network to its servers"));
}

}  // namespace

std::function<absl::StatusOr<Addresses>()> PatientLookUp(const std::string& host) {
  if (IpAddress::Parse(host)) return [host] { return ResolveHost(host); };
  auto thread = SideThread::Make("ms-name");
  if (!thread.ok()) return [host] { return ResolveHost(host); };
  return [host, thread = *std::move(thread), answer = std::make_shared<Answer>()] {
    return AskOnce(host, *thread, answer);
  };
}

absl::StatusOr<Addresses> AwaitHost(const std::string& setting, absl::Duration patience, const NameWaitTools& tools) {
  const MonotonicTime begin = tools.now();
  MonotonicTime say_at = begin;
  absl::Duration pause = kFirstPause;
  while (true) {
    absl::StatusOr<Addresses> found = tools.look_up();
    if (found.ok()) return found;
    const std::string reason(found.status().message());
    if (!absl::IsUnavailable(found.status())) {
      return absl::Status(found.status().code(), absl::StrCat(setting, ": ", reason));
    }
    const absl::Duration waited = tools.now() - begin;
    if (waited >= patience) {
      return absl::DeadlineExceededError(absl::StrCat(setting, ": ", reason, "; gave up after ",
                                                      absl::FormatDuration(absl::Trunc(waited, absl::Seconds(1)))));
    }
    if (tools.now() >= say_at) {
      tools.say(absl::StrCat(setting, ": ", reason, "; looking it up again for up to ",
                             absl::FormatDuration(absl::Trunc(patience - waited, absl::Seconds(1)))));
      const auto* next =
          std::find_if(kLookUpSayAfter.begin(), kLookUpSayAfter.end(), [&](absl::Duration d) { return d > waited; });
      say_at = next != kLookUpSayAfter.end() ? begin + *next : tools.now() + kLookUpSayAfter.back();
    }
    if (!tools.pause(std::min(pause, patience - waited))) return absl::CancelledError("ended by a signal");
    pause = std::min(pause * 2, kMaxPause);
  }
}

std::optional<int> AwaitName(const AgentSettings& settings, Signals& signals, const ServiceManager& manager,
                             const std::string& setting, const std::string& host, std::vector<IpAddress>& addresses) {
  std::optional<int> end_code;
  NameWaitTools tools;
  tools.look_up = PatientLookUp(host);
  tools.now = [] { return Clock::System().Read().monotonic; };
  tools.say = [&](const std::string& text) {
    Log(Severity::kInfo, text);
    manager.Ready(absl::StrCat("waiting until the name ", host, " is known"));
  };
  tools.pause = [&](absl::Duration pause) {
    WaitFor(signals.fd(), POLLIN, pause);
    end_code = signals.TakeEndBeforeJob();
    return !end_code;
  };
  absl::StatusOr<Addresses> found = AwaitHost(setting, settings.cluster_retry_num * absl::Seconds(3), tools);
  if (found.ok()) {
    addresses = *std::move(found);
    return std::nullopt;
  }
  if (absl::IsCancelled(found.status())) return end_code;
  Log(Severity::kError, std::string(found.status().message()));
  return absl::IsDeadlineExceeded(found.status()) ? kExitUnreachable : kExitUsage;
}

}  // namespace muster::agent
