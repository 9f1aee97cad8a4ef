// Decides when remote commands are reported to the scheduler, one by one or many in one report, so that a round has few
// reports however many commands it runs. Also formats such a command for logs, the event log and the journal. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "muster/v1/types.pb.h"

namespace muster::exec {

// Receives the reports.
using CommandSink = std::function<void(v1::RemoteCommands)>;

class CommandReports {
 public:
  static constexpr uint32_t kReportedEach = 16;  // per round, for each kind of refusal and for the commands that ran
  static constexpr absl::Duration kFirstPause = absl::Seconds(1);
  static constexpr absl::Duration kMaxPause = absl::Minutes(10);

  // Adds a command. Returns the reports that are due now.
  std::vector<v1::RemoteCommands> Add(v1::RemoteCommands command, MonotonicTime now);
  // Returns the reports that are due now. Call it from time to time.
  std::vector<v1::RemoteCommands> TakeDue(MonotonicTime now);
  // Returns the reports that are left, and starts counting again for the next round.
  std::vector<v1::RemoteCommands> EndRound();

 private:
  struct Kind {
    uint32_t reported = 0;       // those reported one by one
    v1::RemoteCommands waiting;  // count 0: none
    absl::Duration pause = kFirstPause;
    MonotonicTime due;
  };

  std::map<v1::RemoteCommands::Refusal, Kind> kinds_;
};

// Returns the command for people, without the values of variables, because launchers pass on secrets in them: "A=1
// python x.py" becomes "A=… python x.py". The text is one line of at most kMaxShownCommandBytes, without control
// characters.
std::string ShownCommand(std::string_view words);

}  // namespace muster::exec
