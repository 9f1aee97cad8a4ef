// The input of `--on_event`: chooses the event log's lines that are worth a person's attention, and writes them as
// JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "muster/v1/admin.pb.h"

namespace muster::scheduler {

struct Notice {
  std::string kind;  // "job_failed", "budget_used_up", "job_restarted", "formed_late", "node_lost", "certificate_ends"
  std::string json;  // one line, at most kMaxNoticeBytes
};

inline constexpr size_t kMaxNoticeBytes = 32 * 1024;  // less than a pipe holds
inline constexpr absl::Duration kFormsLate = absl::Minutes(5);
inline constexpr absl::Duration kFoldedFor = absl::Minutes(1);
inline constexpr absl::Duration kCertificateEndsSoon = absl::Hours(24 * 7);

// True if the notice may be dropped to make room for one that may not.
bool GivesWay(const Notice& notice);

// Any thread. Bounded memory.
class NoticeRules {
 public:
  // Takes the lines of one scheduler in order. Returns the notices due now, in order. Of frequent losses and restarts
  // it returns only the first. The others are sent together, by TakeFolded or at the end of their run.
  std::vector<Notice> Judge(const v1::JobEvent& event);
  // Call it every few seconds: returns the folded notices after their minute. INT64_MAX: all of them.
  std::vector<Notice> TakeFolded(int64_t now_unix_ms);
  // Takes the certificate's end and the current time; call it now and then. Returns one notice for each end.
  std::optional<Notice> JudgeCertificate(int64_t ends_unix_ms, int64_t now_unix_ms);

 private:
  struct Folding {
    bool IsOver(int64_t now_unix_ms) const;

    int64_t since_unix_ms = 0;       // when the last one was sent
    uint64_t count = 0;              // those that have come since, …
    v1::JobEvent first;              // … the first of them, …
    std::vector<std::string> named;  // … and the texts of the first few
  };
  void Fold(const char* kind, const v1::JobEvent& event, std::vector<Notice>& notices)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes and returns those past their minute, each with its kind.
  std::vector<std::pair<std::string, Folding>> TakeOver(int64_t now_unix_ms);
  static Notice Together(const std::string& kind, const Folding& folding);

  Mutex mutex_;
  std::map<std::string, int64_t> forming_since_ ABSL_GUARDED_BY(mutex_);                    // by job; unix_ms
  std::map<std::pair<std::string, std::string>, Folding> folding_ ABSL_GUARDED_BY(mutex_);  // by job and kind
  int64_t notified_end_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::scheduler
