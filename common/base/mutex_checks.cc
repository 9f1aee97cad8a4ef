#include "common/base/mutex_checks.h"

#include "absl/synchronization/mutex.h"

namespace muster {

void StopWatchingMutexOrder() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace muster
