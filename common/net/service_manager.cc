// NOTIFY_SOCKET    /path: that socket; @name: that name of the abstract namespace; others (vsock:…): sends nothing
// WATCHDOG_USEC    the watchdog's time; not set, 0, or WATCHDOG_PID names another process: there is no watchdog
#include "common/net/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/base/unique_fd.h"

namespace muster {
namespace {

constexpr absl::Duration kReadyPatience = absl::Seconds(5);

std::string TakeVariable(const char* name) {
  const char* const value = ::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

}  // namespace

ServiceManager ServiceManager::Take() {
  const std::string socket = TakeVariable(kVariables[0]);
  const std::string microseconds = TakeVariable(kVariables[1]);
  const std::string pid = TakeVariable(kVariables[2]);
  int64_t number = 0;
  const bool is_ours = pid.empty() || pid == absl::StrCat(::getpid());
  const bool has_watchdog = is_ours && absl::SimpleAtoi(microseconds, &number) && number > 0;
  return {socket, has_watchdog ? absl::Microseconds(number) : absl::InfiniteDuration()};
}

void ServiceManager::Ready(const std::string& status) const {
  Notify("READY=1\nSTATUS=" + EscapeControl(status), kReadyPatience);
}

void ServiceManager::Status(const std::string& status) const { Notify("STATUS=" + EscapeControl(status)); }

void ServiceManager::Reloading(MonotonicTime now) const {
  Notify(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=", absl::ToInt64Microseconds(now - MonotonicTime())));
}

void ServiceManager::NotifyIfAlive(MonotonicTime last_turn, MonotonicTime now) const {
  constexpr absl::Duration kMaxTurn = absl::Seconds(1);  // of the loop, if it is well (LoopMeasures::last_turn)
  if (now - last_turn < kMaxTurn + interval()) Notify("WATCHDOG=1");
}

void ServiceManager::Notify(const std::string& lines, absl::Duration patience) const {
  sockaddr_un to{};
  if (socket_.size() < 2 || socket_.size() >= sizeof(to.sun_path) || (socket_[0] != '/' && socket_[0] != '@')) return;
  const UniqueFd from(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!from.is_open()) return;
  const timeval longest = absl::ToTimeval(patience);
  ::setsockopt(from.get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);  // 0 would never time out: see `flags`
  const int flags = MSG_NOSIGNAL | (patience == absl::ZeroDuration() ? MSG_DONTWAIT : 0);
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') to.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  ::sendto(from.get(), lines.data(), lines.size(), flags, reinterpret_cast<const sockaddr*>(&to), size);
}

}  // namespace muster
