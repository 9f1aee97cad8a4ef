// Reports this process's state to systemd, as sd_notify(3) documents it: it sends a datagram with lines NAME=VALUE to
// the socket that NOTIFY_SOCKET names. Without that variable it sends nothing. Any thread may call it. No call blocks,
// except Ready.
#pragma once

#include <array>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster {

class ServiceManager {
 public:
  static constexpr std::array kVariables = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

  // Makes the object from kVariables, and removes these from the environment: child processes are not the service. Must
  // be called before the process has other threads.
  static ServiceManager Take();

  // Makes an object that sends nothing.
  ServiceManager() : ServiceManager("", absl::InfiniteDuration()) {}
  // `socket`: a path, or @ and a name in Linux's abstract namespace; empty: sends nothing. `watchdog`: after so much
  // time without a sign of life, systemd ends the process; infinite: it never does.
  ServiceManager(std::string socket, absl::Duration watchdog) : socket_(std::move(socket)), watchdog_(watchdog) {}

  // May wait a few seconds for systemd to read the message: without it, systemd would treat the start as failed.
  void Ready(const std::string& status) const;
  // Sends one line: control characters are escaped.
  void Status(const std::string& status) const;
  void Reloading(MonotonicTime now) const;
  void Stopping() const { Notify("STOPPING=1"); }
  // Must be called at least once in each interval(), unless that is infinite (no watchdog). Reports that this process
  // is alive, unless the loop's last turn is too long ago: then the loop is stuck, even if the caller is not.
  void NotifyIfAlive(MonotonicTime last_turn, MonotonicTime now) const;
  absl::Duration interval() const { return watchdog_ / 3; }

 private:
  void Notify(const std::string& lines, absl::Duration patience = absl::ZeroDuration()) const;

  std::string socket_;
  absl::Duration watchdog_;
};

}  // namespace muster
