// Makes a report on one run: a single HTML file that can be attached to a ticket. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "muster/v1/admin.pb.h"

namespace muster {

struct ReportInput {
  v1::RunStatus run;
  v1::NodesReply nodes;
  v1::RanksReply ranks;
  v1::EventsReply events;  // events of that run
  std::string scheduler;   // the scheduler's address as the user gave it
  std::string scheduler_version;
  std::string ctl_version;
  absl::Time made;
  absl::TimeZone zone;
};

// Returns valid HTML without scripts and without references to anything outside the file. Every text of a peer is
// escaped. The report has at most kMaxReportRows nodes, ranks and events each, and says how many it leaves out.
inline constexpr int kMaxReportRows = 2000;
std::string ReportHtml(const ReportInput& input);

}  // namespace muster
