// The settings that ms-scheduler and ms-worker share, so that both read and explain them in the same way.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/settings/settings.h"

namespace muster {

inline constexpr absl::Duration kDefaultTopoTimeout = absl::Seconds(1800);
inline constexpr absl::Duration kDefaultHeartbeat = absl::Seconds(2);
inline constexpr absl::Duration kMaxTimeout = absl::Hours(24 * 365);

// A program's own rule for a text value. The error states only the rule ("must be …").
using TextRule = absl::Status (*)(const std::string& text);
Setting& AddCheckedText(SettingsTable& table, std::string flag, std::string* value, TextRule rule, std::string help);

// Accepts a host name or a numeric address, without a port. Refuses link-local addresses.
absl::Status CheckHost(const std::string& text);

Setting& AddJobId(SettingsTable& table, std::string* value);
Setting& AddWorkerNum(SettingsTable& table, std::optional<uint32_t>* value);
Setting& AddServerNum(SettingsTable& table, std::optional<uint32_t>* value);
// Parses the value as MindSpore does: 1 (or true) means yes, anything else means no.
Setting& AddHcclCmInit(SettingsTable& table, std::optional<bool>* value);
Setting& AddTopoTimeout(SettingsTable& table, std::optional<absl::Duration>* value);
Setting& AddReceiveMsgTimeout(SettingsTable& table, absl::Duration* value);
Setting& AddStopTimeout(SettingsTable& table, absl::Duration* value);
// fence_times.h has the default.
Setting& AddFenceStopTimeout(SettingsTable& table, std::optional<absl::Duration>* value);

// When a job counts as standing still, and what happens then.
struct StallSettings {
  std::optional<absl::Duration> progress_timeout;
  std::optional<absl::Duration> first_progress_timeout;
  std::optional<std::string> action;  // kStallEnd, kStallReport
};
inline constexpr char kStallEnd[] = "end";
inline constexpr char kStallReport[] = "report";

// Adds enable_recovery, recovery_path, max_restarts, restart_scope, and those of `stalls`.
void AddRecovery(SettingsTable& table, std::optional<bool>* enable, std::string* path,
                 std::optional<uint32_t>* max_restarts, std::optional<std::string>* scope, StallSettings* stalls);

Setting& AddLogFormat(SettingsTable& table, std::string* value);
Setting& AddLogLevel(SettingsTable& table, std::string* value);
Setting& AddCheckConfig(SettingsTable& table, bool* value);

}  // namespace muster
