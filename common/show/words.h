// Formats single values for ms-ctl: ages, ranks, phases, times. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/types.pb.h"

namespace muster {

// Returns "0 s", "12 s", "3 min", "5 h", "2 d": a whole number of the largest unit that fits, rounded down. Under a
// second "0.4 s".
std::string ShortAge(absl::Duration age);

// Returns the time left, in two units: "29 min 48 s", "2 h 5 min", "0 s". Negative: "no limit".
std::string FormatTimeLeft(int64_t milliseconds);

// Returns "0-3,7" for ranks in any order; "" for no ranks.
std::string CompressRanks(std::vector<uint32_t> ranks);

// Returns "forming", "running", …; "unknown" for a value of a newer scheduler.
std::string PhaseWord(v1::RunPhase phase);
// The same, and "stopped" for a run that a person has stopped.
std::string PhaseWord(const v1::RunStatus& run);

// Returns "worker" or "server".
std::string RoleWord(v1::Role role);

// Returns "process_signaled", "node_lost", …
std::string CauseWord(v1::Cause::Kind kind);

// True if a run in that phase has ended for good.
bool HasEnded(v1::RunPhase phase);

// Returns "2026-11-20 23:04:30" in the zone; "" for 0.
std::string FormatWallTime(int64_t unix_ms, absl::TimeZone zone);

// Returns "Asia/Kolkata, UTC+05:30". If the system has only a file for the zone, without its name, returns the
// abbreviation that is valid at `when`: "CEST, UTC+02:00".
std::string ZoneName(absl::TimeZone zone, absl::Time when);

// Returns the word in `known` that `word` was probably meant to be: at most two letters differ, or it is the only known
// word that begins with `word`. "" if there is none.
std::string NearMiss(const std::string& word, const std::vector<std::string>& known);

}  // namespace muster
