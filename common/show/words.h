// How ms-ctl words single values: ages, ranks, phases, times. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/types.pb.h"

namespace muster {

// "0 s", "12 s", "3 min", "5 h", "2 d": the largest unit that fits, cut off. Under a second "0.4 s".
std::string ShortAge(absl::Duration age);

// What is left of a limit, exact enough to wait by: "29 min 48 s", "2 h 5 min", "0 s". Negative: "no limit".
std::string FormatTimeLeft(int64_t milliseconds);

// "0-3,7"; in rising order whatever the order given; "" for none.
std::string CompressRanks(std::vector<uint32_t> ranks);

// "forming", "running", …; "unknown" for a value of a newer scheduler.
std::string PhaseWord(v1::RunPhase phase);

// "worker", "server".
std::string RoleWord(v1::Role role);

// "process_signaled", "node_lost", …
std::string CauseWord(v1::Cause::Kind kind);

// Whether a run in that phase has ended for good.
bool HasEnded(v1::RunPhase phase);

// "2026-11-20 23:04:30" in the zone; "" for 0.
std::string FormatWallTime(int64_t unix_ms, absl::TimeZone zone);

// "Asia/Kolkata, UTC+05:30"; where the system has only a file for it, what clocks there show at that time: "CEST,
// UTC+02:00".
std::string ZoneName(absl::TimeZone zone, absl::Time when);

// The one of `known` that `word` was probably meant to be (at most two letters off, or its only completion); "" if
// none.
std::string NearMiss(const std::string& word, const std::vector<std::string>& known);

}  // namespace muster
