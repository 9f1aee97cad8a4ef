// A remote command as it may be shown: in logs, the event log and the journal. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::exec {

// Without the values of variables, which launchers pass on in it with all secrets: "A=1 python x.py" is "A=… python
// x.py". At most kMaxShownCommandBytes in one line, without control characters.
std::string ShownCommand(std::string_view words);

}  // namespace muster::exec
