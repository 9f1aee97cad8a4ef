// The severity of a line for people: in the log, in the event log, in an agent's status.
#pragma once

namespace muster {

enum class Severity { kDebug, kInfo, kWarning, kError };

}  // namespace muster
