// The report of a ring check: a headline and a table for people, and JSON for scripts. Pure.
#pragma once

#include <string>

#include "ring/plan.h"
#include "ring/ring_check.h"

namespace muster::ring {

struct Checked {
  const Plan* plan = nullptr;
  uint64_t bytes = 0;  // the size of the sum
  RingResult result;
};

// Returns "ring of 16 ranks on 2 machines over mutual TLS: good; 4.0 MiB summed in 31 ms; …". If the check has found
// faults, adds a line for each faulty link.
std::string RenderHeadline(const Checked& checked);

// Returns a table of the links with their latency, and their bandwidth compared with the median. Shows at most 64
// links, the slowest ones.
std::string RenderLinks(const Checked& checked);

// Returns a JSON object with the members "good", "job_id", "run", "round", "rank", "world_size", "tls", "bytes",
// "took_ms", "sum_ms", "links" (an array) and "faults" (an array). A figure that was not measured is null.
std::string ReportJson(const Checked& checked);

// Returns all faults in one line, which becomes the cause of the job's failure; "" if there is none.
std::string CauseText(const Checked& checked);

}  // namespace muster::ring
