// The report of a ring check: a line and a table for people, JSON for scripts. Pure.
#pragma once

#include <string>

#include "ring/plan.h"
#include "ring/ring_check.h"

namespace muster::ring {

struct Checked {
  const Plan* plan = nullptr;
  uint64_t bytes = 0;  // of the sum
  RingResult result;
};

// Returns "ring of 16 ranks on 2 machines over mutual TLS: good; 4.0 MiB summed in 31 ms, …", or the faults, one line a
// link.
std::string RenderHeadline(const Checked& checked);

// Returns each link with its latency and bandwidth, compared with the median; of more than 64 links the slowest.
std::string RenderLinks(const Checked& checked);

// {"good", "job_id", "run", "round", "rank", "world_size", "tls", "bytes", "took_ms", "sum_ms", "links": […],
//  "faults": […]}; figures that were not measured are null.
std::string ReportJson(const Checked& checked);

// Returns all faults in one line, for the cause of a job's failure. "" if there is none.
std::string CauseText(const Checked& checked);

}  // namespace muster::ring
