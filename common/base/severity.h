// How loud a line for people is: of the log, of the event log, of an agent's status.
#pragma once

namespace muster {

enum class Severity { kDebug, kInfo, kWarning, kError };

}  // namespace muster
