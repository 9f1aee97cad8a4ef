// ms-ctl asks this scheduler:
//
//   the user has named one (--sched_host, --sched_port, --admin_socket)   that one
//   something listens on this machine at the default port                 that one
//   one scheduler of this user answers at its admin socket                that one
//   several do, and one of them knows the job that was named              that one
//   several do otherwise                                                  asks on the terminal, else an error
//   none does                                                             the one at the default port
#include "ctl/commands/find_scheduler.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "common/net/ip_address.h"
#include "common/show/words.h"
#include "common/sys/runtime_paths.h"
#include "ctl/admin_client.h"
#include "ctl/commands/ping/network.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);  // for the answer of each scheduler

// Returns "port 40123: job train, run 1: running".
std::string InWords(const FoundScheduler& one) {
  std::vector<std::string> jobs;
  for (const v1::RunStatus& run : one.status.runs()) {
    jobs.push_back(EscapeControl(absl::StrCat("job ", run.job_id(), ", run ", run.run(), ": ", PhaseWord(run))));
  }
  return absl::StrCat("port ", one.port, ": ", jobs.empty() ? "no job yet" : absl::StrJoin(jobs, "; "));
}

// Returns an index of `found`. `fitting`: the indexes to choose from.
absl::StatusOr<size_t> AskWhich(const std::vector<FoundScheduler>& found, const std::vector<size_t>& fitting) {
  for (size_t i = 0; i < fitting.size(); ++i) {
    std::fprintf(stderr, "  %zu  %s\n", i + 1, InWords(found[fitting[i]]).c_str());
  }
  std::fprintf(stderr, "Which scheduler? [1-%zu] ", fitting.size());
  std::string line;
  std::getline(std::cin, line);
  size_t number = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &number) || number < 1 || number > fitting.size()) {
    return absl::CancelledError("no scheduler was chosen; --sched_port names one");
  }
  return fitting[number - 1];
}

// Returns the indexes of the schedulers that know the job; of all if `job_id` is empty.
std::vector<size_t> Fitting(const std::vector<FoundScheduler>& found, const std::string& job_id) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& runs = found[i].status.runs();
    const bool knows_job =
        std::any_of(runs.begin(), runs.end(), [&job_id](const v1::RunStatus& run) { return run.job_id() == job_id; });
    if (job_id.empty() || knows_job) fitting.push_back(i);
  }
  return fitting;
}

}  // namespace

std::vector<FoundScheduler> FindSchedulers() {
  std::vector<FoundScheduler> found;
  for (const auto& [port, path] : FindAdminSockets()) {
    const auto client = AdminClient::OverSocket({path, /*is_named=*/false}, kPatience);
    if (!client.ok()) continue;
    absl::StatusOr<v1::StatusReply> status = (*client)->GetStatus("", 0);
    if (status.ok()) found.push_back({port, path, *std::move(status)});
  }
  return found;
}

absl::StatusOr<std::optional<size_t>> ChooseScheduler(const std::vector<FoundScheduler>& found,
                                                      const std::string& job_id) {
  const std::vector<size_t> fitting = Fitting(found, job_id);
  if (fitting.size() <= 1) return fitting.empty() ? std::nullopt : std::optional(fitting[0]);
  std::vector<std::string> lines;
  for (const size_t i : fitting) lines.push_back(absl::StrCat("\n  ", InWords(found[i])));
  return absl::FailedPreconditionError(absl::StrCat(fitting.size(), " schedulers of this user run on this machine",
                                                    job_id.empty() ? "" : absl::StrCat(" and know a job ", job_id),
                                                    ": choose one with --sched_port", absl::StrJoin(lines, "")));
}

absl::Status FindScheduler(CtlSettings& settings) {
  if (settings.names_scheduler) return absl::OkStatus();
  if (FindAdminSockets().empty()) return absl::OkStatus();
  const std::optional<IpAddress> here = IpAddress::Parse(settings.sched_host);
  if (here && ErrorOfConnecting(*here, settings.sched_port, kPatience) == 0) return absl::OkStatus();
  const std::vector<FoundScheduler> found = FindSchedulers();
  absl::StatusOr<std::optional<size_t>> chosen = ChooseScheduler(found, settings.job_id);
  if (!chosen.ok()) {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return chosen.status();
    const absl::StatusOr<size_t> answer = AskWhich(found, Fitting(found, settings.job_id));
    if (!answer.ok()) return answer.status();
    chosen = *answer;
  }
  if (!chosen->has_value()) return absl::OkStatus();
  settings.admin_socket = found[**chosen].socket;
  settings.sched_port = found[**chosen].port;
  settings.is_socket_found = true;
  return absl::OkStatus();
}

}  // namespace muster::ctl
