#include "scheduler/once_end.h"

#include <utility>

#include "common/base/exit_codes.h"
#include "common/causes/outcome.h"
#include "common/sys/log.h"

namespace muster::scheduler {

OnceEnd::OnceEnd(bool is_once, bool has_direct_port, std::function<void(int exit_code)> end)
    : is_once_(is_once), end_(std::move(end)), has_no_cluster_(!has_direct_port) {}

void OnceEnd::OnRun(const RunSettled& settled) {
  if (!is_once_) return;
  if (settled.run != 0) return end_(ExitCodeOf(settled.outcome));
  // If there may still be a cluster at --mindspore_port, this is no error yet.
  if (has_no_cluster_) Log(Severity::kError, settled.outcome.cause().text());
  has_no_run_ = true;
  EndIfNoneFormed();
}

void OnceEnd::OnDirect(DirectEnd end) {
  if (!is_once_) return;
  if (end != DirectEnd::kNeverFormed) return end_(end == DirectEnd::kWell ? kExitSuccess : kExitJobFailed);
  has_no_cluster_ = true;
  EndIfNoneFormed();
}

void OnceEnd::EndIfNoneFormed() {
  if (has_no_run_ && has_no_cluster_) end_(kExitNeverFormed);
}

}  // namespace muster::scheduler
