// Formats the admin service's replies as text for people. Pure: the same reply and zone give the same text.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/admin.pb.h"

namespace muster {

// A reply about one job, with the job's id.
template <typename Reply>
struct OfJob {
  std::string job_id;
  Reply reply;
};
using NodesOfJob = OfJob<v1::NodesReply>;
using RanksOfJob = OfJob<v1::RanksReply>;

// Returns a line about the scheduler, then a block for each run: phase, round, nodes, missing nodes, the time left, and
// the cause of its end. `where` is the scheduler's address as the user gave it.
std::string RenderStatus(const v1::StatusReply& reply, const std::string& where, absl::TimeZone zone);

// Returns one run's block, as in RenderStatus. Ends with a line feed.
std::string RenderRun(const v1::RunStatus& run, absl::TimeZone zone);

// Return tables. If there are several jobs, the first column is JOB.
std::string RenderNodes(const std::vector<NodesOfJob>& jobs);
std::string RenderRanks(const std::vector<RanksOfJob>& jobs);

// Returns how often each kind of request was refused, and when certificate and revocation list end.
std::string RenderCounters(const v1::CountersReply& reply, absl::TimeZone zone);

// Returns each rank's stack under a line with the rank and the method.
std::string RenderStacks(const v1::StacksReply& reply);

// Returns what the run waits for, how far it is, or why it failed. It answers "why does nothing happen?".
std::string RenderWhy(const v1::RunStatus& run, absl::TimeZone zone);

// Returns a line for each event, "2026-11-20 23:04:30  default/1  text", with the process's last lines indented below
// it.
std::string RenderEvents(const v1::EventsReply& reply, absl::TimeZone zone);

}  // namespace muster
