// The commands that show something and change nothing.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "common/base/number_list.h"
#include "common/net/ip_address.h"
#include "common/show/json.h"
#include "common/show/looks.h"
#include "common/show/render.h"
#include "common/show/since.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kStacksTimeout = absl::Seconds(12);  // the scheduler answers within 10 s

}  // namespace

int ShowStatus(Call& call) {
  const CtlSettings& settings = call.settings;
  const absl::StatusOr<v1::StatusReply> reply = AskStatus(*call.client, settings);
  if (!reply.ok()) return Complain(reply.status());
  if (settings.json) return Print(StatusJson(*reply));
  return Print(RenderStatus(*reply, JoinHostPort(settings.sched_host, settings.sched_port), absl::LocalTimeZone()));
}

int ShowNodes(Call& call) {
  if (call.settings.missing) {
    const auto missing = ForEachJob(*call.client, call.settings, &AdminClient::ListMissing);
    if (!missing.ok()) return Complain(missing.status());
    return Print(call.settings.json ? MissingJson(*missing) : RenderMissing(*missing));
  }
  const auto jobs = ForEachJob(*call.client, call.settings, &AdminClient::ListNodes);
  if (!jobs.ok()) return Complain(jobs.status());
  return Print(call.settings.json ? NodesJson(*jobs) : RenderNodes(*jobs));
}

int ShowRanks(Call& call) {
  const auto jobs = ForEachJob(*call.client, call.settings, &AdminClient::ListRanks);
  if (!jobs.ok()) return Complain(jobs.status());
  return Print(call.settings.json ? RanksJson(*jobs) : RenderRanks(*jobs));
}

int ShowPreflight(Call& call) {
  const auto jobs = ForEachJob(*call.client, call.settings, &AdminClient::ListHosts);
  if (!jobs.ok()) return Complain(jobs.status());
  Print(call.settings.json ? HostsJson(*jobs) : RenderHosts(*jobs));
  return HasHostErrors(*jobs) ? kExitJobFailed : kExitSuccess;
}

int ShowTop(Call& call) {
  const auto nodes = ForEachJob(*call.client, call.settings, &AdminClient::ListNodes);
  if (!nodes.ok()) return Complain(nodes.status());
  std::vector<TopOfJob> tops;
  for (const NodesOfJob& job : *nodes) {
    const absl::StatusOr<v1::RanksReply> ranks = call.client->ListRanks(job.job_id, job.reply.run());
    if (!ranks.ok()) return Complain(ranks.status());
    tops.push_back(TopOf(job.job_id, *ranks, job.reply, call.settings.lines == 0 ? 10 : call.settings.lines));
  }
  return Print(call.settings.json ? TopJson(tops) : RenderTop(tops));
}

int ShowEvents(Call& call) {
  const CtlSettings& settings = call.settings;
  const absl::StatusOr<int64_t> since = ParseSince(settings.since, absl::Now(), absl::LocalTimeZone());
  if (!since.ok()) return Usage(absl::StrCat("events: --since ", since.status().message()));
  if (!settings.job_id.empty()) {
    const absl::StatusOr<v1::StatusReply> known = AskStatus(*call.client, settings);
    if (!known.ok()) return Complain(known.status());
  }
  const absl::StatusOr<v1::EventsReply> all = call.client->ListEvents(settings.job_id, 0);
  if (!all.ok()) return Complain(all.status());
  v1::EventsReply shown;
  for (const v1::JobEvent& event : all->events()) {
    if (event.unix_ms() < *since) continue;
    if (settings.run == 0 || event.run() == settings.run) *shown.add_events() = event;
  }
  return Print(settings.json ? EventsJson(shown) : RenderEvents(shown, absl::LocalTimeZone()));
}

int ShowWhy(Call& call) {
  const CtlSettings& settings = call.settings;
  const absl::StatusOr<v1::StatusReply> reply = AskStatus(*call.client, settings);
  if (!reply.ok()) return Complain(reply.status());
  if (settings.json) return Print(StatusJson(*reply));
  std::string out;
  for (const v1::RunStatus& run : reply->runs()) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", RenderWhy(run, absl::LocalTimeZone()));
  }
  return Print(out.empty() ? "no job yet\n" : out);
}

int ShowStacks(Call& call) {
  const CtlSettings& settings = call.settings;
  const std::string& ranks = call.argument;
  v1::StacksRequest request;
  if (!ranks.empty()) {
    const auto ranges = ParseNumberRanges(ranks, kMaxWorkers);
    if (!ranges.ok()) {
      return Usage(absl::StrCat("stacks: '", ranks, "' ", std::string(ranges.status().message()),
                                "; expected ranks such as 0,3-5"));
    }
    for (const auto& [first, last] : *ranges) {
      for (uint32_t rank = first; rank <= last && static_cast<size_t>(request.ranks_size()) <= kMaxStackRanks; ++rank) {
        request.add_ranks(rank);
      }
    }
  }
  const absl::StatusOr<Steered> steered = ChooseSteered(call, "look at", std::max(settings.timeout, kStacksTimeout));
  if (!steered.ok()) return Complain(steered.status());
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  const absl::StatusOr<v1::StacksReply> reply = steered->client->GetStacks(request);
  if (!reply.ok()) return Complain(reply.status());
  return Print(settings.json ? StacksJson(steered->job_id, *reply) : RenderStacks(*reply));
}

int ShowCounters(Call& call) {
  const absl::StatusOr<v1::CountersReply> reply = call.client->GetCounters();
  if (!reply.ok()) return Complain(reply.status());
  return Print(call.settings.json ? CountersJson(*reply) : RenderCounters(*reply, absl::LocalTimeZone()));
}

}  // namespace muster::ctl
