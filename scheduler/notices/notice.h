// Decides which events need a person's attention, and writes a notice for each as JSON. The command of `--on_event`
// gets each notice as its input.
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
  std::string kind;  // "job_failed", "job_stopped", "budget_used_up", "job_restarted", "formed_late", "node_lost",
                     // "certificate_ends"
  std::string json;  // one line, at most kMaxNoticeBytes
};

inline constexpr size_t kMaxNoticeBytes = 32 * 1024;  // fits into a pipe (64 KiB), so that writing it never blocks
inline constexpr absl::Duration kFormsLate = absl::Minutes(5);
inline constexpr absl::Duration kFoldedFor =
    absl::Minutes(1);  // how long frequent notices are collected; see notice.cc
inline constexpr absl::Duration kCertificateEndsSoon = absl::Hours(24 * 7);

// True if this notice may be dropped to make room for a more important one.
bool GivesWay(const Notice& notice);

// Thread-safe. Its memory use is bounded.
class NoticeRules {
 public:
  // Call it with each event of the scheduler, in order. Returns the notices to send now, in order. When nodes are lost
  // or processes restart often, it returns only the first notice. It folds the others into one, which TakeFolded
  // returns a minute later, or Judge at the end of the run.
  std::vector<Notice> Judge(const v1::JobEvent& event);
  // Call it every few seconds. Returns the folded notices after their minute; with INT64_MAX, all folded notices.
  std::vector<Notice> TakeFolded(int64_t now_unix_ms);
  // Call it now and then. Returns a notice if the scheduler's certificate ends within kCertificateEndsSoon; only once
  // for each end. `ends_unix_ms`: when it ends; 0: there is no certificate.
  std::optional<Notice> JudgeCertificate(int64_t ends_unix_ms, int64_t now_unix_ms);

 private:
  struct Folding {
    bool IsOver(int64_t now_unix_ms) const;

    int64_t since_unix_ms = 0;       // when the last notice of this job and kind was sent
    uint64_t count = 0;              // the number of events since then
    v1::JobEvent first;              // the first of these events
    std::vector<std::string> named;  // the texts of the first few of them
  };
  void Fold(const char* kind, const v1::JobEvent& event, std::vector<Notice>& notices)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns each folding that has events and a minute that is over, with its kind, and starts its next minute.
  std::vector<std::pair<std::string, Folding>> TakeOver(int64_t now_unix_ms);
  static Notice Together(const std::string& kind, const Folding& folding);

  Mutex mutex_;
  std::map<std::string, int64_t> forming_since_ ABSL_GUARDED_BY(mutex_);                    // by job; unix_ms
  std::map<std::pair<std::string, std::string>, Folding> folding_ ABSL_GUARDED_BY(mutex_);  // by job and kind
  int64_t notified_end_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::scheduler
