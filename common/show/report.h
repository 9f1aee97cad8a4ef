// A report on one run, as one HTML file that needs nothing else: to attach to a ticket. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "muster/v1/admin.pb.h"

namespace muster {

struct ReportInput {
  v1::RunStatus run;
  v1::NodesReply nodes;
  v1::RanksReply ranks;
  v1::EventsReply events;  // of that run
  std::string scheduler;   // its address as asked
  std::string scheduler_version;
  std::string ctl_version;
  absl::Time made;
  absl::TimeZone zone;
};

// Returns valid HTML without scripts and without references to anything outside; every text of a peer is escaped. At
// most kMaxReportRows nodes, ranks and events each; the report says how many are left out.
inline constexpr int kMaxReportRows = 2000;
std::string ReportHtml(const ReportInput& input);

}  // namespace muster
