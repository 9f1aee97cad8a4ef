// What `--on_event` is told: which lines of the event log are worth waking somebody for, and as what JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "muster/v1/admin.pb.h"

namespace muster::scheduler {

struct Notice {
  std::string kind;  // "job_failed", "budget_used_up", "job_restarted", "formed_late", "node_lost", "certificate_ends"
  std::string json;  // one line, at most kMaxNoticeBytes
};

inline constexpr size_t kMaxNoticeBytes = 32 * 1024;  // less than a pipe holds
inline constexpr absl::Duration kFormsLate = absl::Minutes(5);
inline constexpr absl::Duration kCertificateEndsSoon = absl::Hours(24 * 7);

// One thread. Bounded memory.
class NoticeRules {
 public:
  // The lines of one scheduler, in their order. nullopt: nobody need know.
  std::optional<Notice> Judge(const v1::StoryEvent& event);
  // When it ends, and now; asked now and then. Once for each end.
  std::optional<Notice> JudgeCertificate(int64_t ends_unix_ms, int64_t now_unix_ms);

 private:
  std::map<std::string, int64_t> forming_since_;  // by job; unix_ms
  int64_t told_end_ = 0;
};

}  // namespace muster::scheduler
