// What systemd is told of this process, as sd_notify(3) documents it: a datagram of lines NAME=VALUE to the socket that
// NOTIFY_SOCKET names. Without that variable nothing is told. Any thread; no call waits, but for Ready.
#pragma once

#include <array>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster {

class ServiceManager {
 public:
  static constexpr std::array kVariables = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

  // Takes kVariables out of the environment: what is started from here is not the service. Before there are other
  // threads.
  static ServiceManager Take();

  // Nobody is told.
  ServiceManager() : ServiceManager("", absl::InfiniteDuration()) {}
  // `socket`: a path, or @ and a name of Linux' own; empty: nobody is told. `watchdog`: after
  // so long without a word that this process is well it is ended; infinite: never.
  ServiceManager(std::string socket, absl::Duration watchdog) : socket_(std::move(socket)), watchdog_(watchdog) {}

  // May wait for a few seconds until systemd reads it: a start that it does not hear of would be taken for a failed
  // one.
  void Ready(const std::string& status) const;
  // In one line: control characters are escaped.
  void Status(const std::string& status) const;
  void Reloading(MonotonicTime now) const;
  void Stopping() const { Tell("STOPPING=1"); }
  // To be called each interval() at the latest, unless that is infinite: nobody asks for it. Says that this process is
  // well, unless the loop's last turn is too long ago: however lively the caller is, the loop stands still then.
  void TellIfAlive(MonotonicTime last_turn, MonotonicTime now) const;
  absl::Duration interval() const { return watchdog_ / 3; }

 private:
  void Tell(const std::string& lines, absl::Duration patience = absl::ZeroDuration()) const;

  std::string socket_;
  absl::Duration watchdog_;
};

}  // namespace muster
