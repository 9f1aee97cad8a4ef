// Which remote commands are told to the scheduler, one by one or many at once: however fast they come, what is told of
// a round stays little. And how such a command is shown: in logs, the event log and the journal. Pure.
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

// Takes what is told.
using Teller = std::function<void(v1::RemoteCommands)>;

class ToldCommands {
 public:
  static constexpr uint32_t kToldEach = 16;  // of a round, for each way to be refused, and of those that were run
  static constexpr absl::Duration kFirstPause = absl::Seconds(1);
  static constexpr absl::Duration kMaxPause = absl::Minutes(10);

  // One more, with its round. Returns what is to be told now.
  std::vector<v1::RemoteCommands> Add(v1::RemoteCommands command, MonotonicTime now);
  // Call it now and then.
  std::vector<v1::RemoteCommands> TakeDue(MonotonicTime now);
  // What was not told yet. The next round begins anew.
  std::vector<v1::RemoteCommands> EndRound();

 private:
  struct Kind {
    uint32_t told = 0;           // one by one
    v1::RemoteCommands waiting;  // count 0: none
    absl::Duration pause = kFirstPause;
    MonotonicTime due;
  };

  std::map<v1::RemoteCommands::Refusal, Kind> kinds_;
};

// Without the values of variables, which launchers pass on in it with all secrets: "A=1 python x.py" is "A=… python
// x.py". At most kMaxShownCommandBytes in one line, without control characters.
std::string ShownCommand(std::string_view words);

}  // namespace muster::exec
