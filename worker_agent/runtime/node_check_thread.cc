#include "worker_agent/runtime/node_check_thread.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"

namespace muster::agent {

void NodeCheckThread::Start(std::function<void(absl::Status)> deliver) {
  MUSTER_CHECK(cancel_.is_open(), "an eventfd is available at the start");
  Abandon();
  auto thread = TryThread([this, deliver] {
    Log(Severity::kInfo, "node check: runs again, since the last failure may come from this node");
    const MonotonicTime begun = clock_.Read().monotonic;
    NodeCheckResult result = RunNodeCheck(check_, cancel_.fd(), clock_);
    LogNodeCheck(result, clock_.Read().monotonic - begun);
    if (!absl::IsCancelled(result.status)) deliver(std::move(result.status));
  });
  if (!thread.ok()) {
    // A node is not unfit because this agent has no thread left.
    Log(Severity::kWarning, absl::StrCat("node check: not made: ", std::string(thread.status().message())));
    return deliver(absl::OkStatus());
  }
  thread_ = *std::move(thread);
}

void NodeCheckThread::Abandon() {
  if (!thread_.joinable()) return;
  cancel_.Wake();
  thread_.join();
  cancel_.Clear();
}

}  // namespace muster::agent
