// `ms-ctl report [JOB]`: writes an HTML file about a run. It overwrites a file only if --output names it; without
// --output, an existing file is an error.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/text.h"
#include "common/base/unique_fd.h"
#include "common/base/version.h"
#include "common/net/ip_address.h"
#include "common/show/report.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/choose.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

int WriteFile(const std::string& path, bool is_named, const std::string& text) {
  const auto complain = [&] {
    return Complain(absl::FailedPreconditionError(
        absl::StrCat("can't write the report to ", path, ": ", std::strerror(errno), "; name a file with -o FILE")));
  };
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (is_named ? O_TRUNC : O_EXCL), 0600));
  if (!fd.is_open()) return complain();
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return complain();
    at += static_cast<size_t>(n);
  }
  return Print(absl::StrCat(EscapeControl(path), "\n"));
}

// Returns the run to report: the one that the user named, else the only one that has not ended, else the one opened
// last.
absl::StatusOr<v1::RunStatus> RunToReport(const v1::StatusReply& reply, const CtlSettings& settings) {
  if (!settings.job_id.empty() && !reply.runs().empty()) return *reply.runs().rbegin();
  const absl::StatusOr<std::optional<v1::RunStatus>> chosen = ChooseRun(reply, /*takes_ended=*/true);
  if (!chosen.ok()) return chosen.status();
  if (!chosen->has_value()) return absl::NotFoundError("this scheduler has no job yet");
  return **chosen;
}

}  // namespace

int WriteReport(Call& call) {
  const CtlSettings& settings = call.settings;
  if (settings.run > 0 && settings.job_id.empty())
    return Usage("report: --run says which run of a job: name the job too");
  const absl::StatusOr<v1::StatusReply> status = AskStatus(*call.client, settings);
  if (!status.ok()) return Complain(status.status());
  const absl::StatusOr<v1::RunStatus> run = RunToReport(*status, settings);
  if (!run.ok()) return Complain(run.status());
  auto nodes = call.client->ListNodes(run->job_id(), run->run());
  if (!nodes.ok()) return Complain(nodes.status());
  auto ranks = call.client->ListRanks(run->job_id(), run->run());
  if (!ranks.ok()) return Complain(ranks.status());
  const auto events = call.client->ListEvents(run->job_id(), 0);
  if (!events.ok()) return Complain(events.status());
  ReportInput input{*run,
                    *std::move(nodes),
                    *std::move(ranks),
                    {},
                    JoinHostPort(settings.sched_host, settings.sched_port),
                    status->version(),
                    kVersion,
                    absl::Now(),
                    absl::LocalTimeZone()};
  for (const v1::JobEvent& event : events->events()) {
    if (event.run() == run->run()) *input.events.add_events() = event;
  }
  const std::string html = ReportHtml(input);
  if (settings.output_file == "-") return Print(html);
  const bool is_named = !settings.output_file.empty();
  return WriteFile(is_named ? settings.output_file : absl::StrCat("muster-", run->job_id(), "-", run->run(), ".html"),
                   is_named, html);
}

}  // namespace muster::ctl
