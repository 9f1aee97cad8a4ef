#include "worker_agent/devices/device_claim.h"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/base/sha256.h"
#include "common/sys/file_io.h"
#include "common/sys/wait.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxSocketName =
    sizeof(sockaddr_un::sun_path) - 1;               // without the zero byte that an abstract name begins with
constexpr size_t kMaxSocketsText = 4 * 1024 * 1024;  // bytes of /proc/net/unix
constexpr int kBacklog = 4096;     // connections that ask for the holder are never accepted: they fill this queue
constexpr int kListenPauses = 20;  // for all devices together: a process that has just bound a name may not listen yet
constexpr absl::Duration kListenPause = absl::Milliseconds(5);
constexpr size_t kMaxNamedDevices = 4;  // warnings that describe the holder; no more, since each reads /proc/net/unix
constexpr int kMaxGroups = 1024;
constexpr int kMaxForged = 64;  // the most names with a holder's pid to try, since any user can take such names
constexpr size_t kMaxUserRecord = 16 * 1024;

std::string KindsFile(const std::string& kind) { return kind == "Ascend" ? "davinci" : "nvidia"; }

std::string DeviceFile(uint32_t number, const DeviceClaimOptions& options) {
  return absl::StrCat(options.folder, "/", KindsFile(options.kind), number);
}

// Returns the name of the claim's socket. It has the kernel's number of the device, which is the same in all
// containers, even if they number their device files differently. For a file that is no device (in tests) it
// has a digest of the folder and the file's name instead.
std::string ClaimName(uint32_t number, const DeviceClaimOptions& options) {
  struct stat file {};
  if (::stat(DeviceFile(number, options).c_str(), &file) == 0 && S_ISCHR(file.st_mode)) {
    return absl::StrCat("muster-device/", major(file.st_rdev), ":", minor(file.st_rdev));
  }
  const std::string place =
      options.folder == "/dev" ? "" : absl::BytesToHexString(Sha256(options.folder)).substr(0, 16) + "/";
  return absl::StrCat("muster-device/", place, KindsFile(options.kind), number);
}

// Returns how the name of an owner socket begins. Each process with claims has one owner socket. The rest of the name
// says the time and the job.
std::string OwnerPrefix(pid_t pid) { return absl::StrCat("muster-devices-of/", pid, "/"); }

socklen_t FillAddress(const std::string& name, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  const size_t size = std::min(name.size(), kMaxSocketName);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

// Binds the abstract name and listens on it. If the result is not open, errno says why; EADDRINUSE: another process has
// the name.
UniqueFd TakeName(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  const socklen_t size = FillAddress(name, address);
  // It listens only so that SO_PEERCRED of a connection shows the holder; it accepts no connection.
  if (fd.is_open() &&
      (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd.get(), kBacklog) != 0)) {
    const int error = errno;
    fd.reset();
    errno = error;
  }
  return fd;
}

// Returns the process that listens on the name; nullopt if none does. A claim's holder listens right after it has bound
// the name, so this tries again after a pause. `pauses`: the number of pauses left; each pause lowers it.
std::optional<ucred> HolderOf(const std::string& name, int& pauses) {
  sockaddr_un address{};
  const socklen_t size = FillAddress(name, address);
  while (true) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ucred holder{};
    socklen_t holder_size = sizeof(holder);
    if (fd.is_open() && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &holder, &holder_size) == 0) {
      return holder;
    }
    if (pauses == 0) return std::nullopt;
    --pauses;
    Pause(kListenPause);
  }
}

struct User {
  std::string name;  // empty: not known
  gid_t group = 0;
};

User LookUp(uid_t uid) {
  std::string buffer(kMaxUserRecord, '\0');
  passwd record{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &record, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return {record.pw_name, record.pw_gid};
}

bool IsInGroup(const User& user, gid_t group) {
  if (user.name.empty()) return false;
  std::vector<gid_t> groups(kMaxGroups);
  int count = kMaxGroups;
  if (::getgrouplist(user.name.c_str(), user.group, groups.data(), &count) < 0) return false;
  return std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

bool MayUse(const ucred& holder, const std::string& device_file) {
  if (holder.uid == 0 || holder.uid == geteuid()) return true;
  struct stat file {};
  if (::stat(device_file.c_str(), &file) != 0) return true;  // not known; so the claim counts
  if ((file.st_mode & S_IWOTH) != 0) return true;
  if (file.st_uid == holder.uid) return (file.st_mode & S_IWUSR) != 0;
  return (file.st_mode & S_IWGRP) != 0 && (file.st_gid == holder.gid || IsInGroup(LookUp(holder.uid), file.st_gid));
}

// The facts about a holder that the name of its owner socket shows.
struct OwnWords {
  std::string job;
  std::string since;  // ", since 2026-01-31 12:00:00"; empty: not known
};

// Returns the words of process `pid`. Ignores owner sockets with that pid that another process listens on.
OwnWords WordsOf(pid_t pid) {
  const std::string prefix = OwnerPrefix(pid);
  const absl::StatusOr<std::string> sockets = ReadSmallFile("/proc/net/unix", kMaxSocketsText);
  if (!sockets.ok()) return {};
  const std::string listed = absl::StrCat(" @", prefix);
  int looks = 0;
  for (size_t at = sockets->find(listed); at != std::string::npos && looks < kMaxForged; ++looks) {
    const std::string name = sockets->substr(at + 2, std::min(kMaxSocketName, sockets->find('\n', at) - (at + 2)));
    at = sockets->find(listed, at + 1);
    int no_pauses = 0;  // no need to wait: an agent makes this socket before its claims
    const std::optional<ucred> speaker = HolderOf(name, no_pauses);
    if (!speaker || speaker->pid != pid) continue;
    const std::pair<std::string, std::string> words =
        absl::StrSplit(name.substr(prefix.size()), absl::MaxSplits('/', 1));
    OwnWords own;
    int64_t seconds = 0;
    if (absl::SimpleAtoi(words.first, &seconds)) {
      own.since = absl::FormatTime(", since %Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(seconds), absl::LocalTimeZone());
    }
    if (IsId(words.second)) own.job = words.second;
    return own;
  }
  return {};
}

// Returns "job digits (pid 4711, user alice, since …)", for a job named digits.
std::string HolderText(const std::optional<ucred>& holder) {
  if (!holder) return "an unidentified program";
  const std::string user = LookUp(holder->uid).name;
  const std::string who = user.empty() ? absl::StrCat("uid ", holder->uid) : absl::StrCat("user ", user);
  if (holder->pid <= 0) return absl::StrCat("a process of another container (", who, ")");
  const OwnWords own = WordsOf(holder->pid);
  return absl::StrCat(own.job.empty() ? "a process" : absl::StrCat("job ", own.job), " (pid ", holder->pid, ", ", who,
                      own.since, ")");
}

absl::Status Refuse(uint32_t number, const ucred& holder) {
  return absl::UnavailableError(
      absl::StrCat("devices: device ", number, " is used by ", HolderText(holder),
                   ": wait until that ends, or give this job other devices (--devices, MS_DEVICES); without --devices, "
                   "ms-worker does not check whether devices are in use"));
}

}  // namespace

absl::StatusOr<DeviceClaims> ClaimDevices(std::vector<uint32_t> numbers, const DeviceClaimOptions& options) {
  // All agents claim in rising order: if two want the same devices at once, one of them gets them all.
  std::sort(numbers.begin(), numbers.end());
  DeviceClaims claims;
  if (numbers.empty()) return claims;
  // Without the owner socket, agents that find a device claimed can't name this agent's job. That is no error.
  int pauses = kListenPauses;
  UniqueFd owner = TakeName(absl::StrCat(OwnerPrefix(getpid()), options.now_unix_ms / 1000, "/", options.job_id));
  if (owner.is_open()) claims.held.push_back(std::move(owner));
  size_t named = 0;
  for (const uint32_t number : numbers) {
    const std::string name = ClaimName(number, options);
    UniqueFd fd = TakeName(name);
    const int error = errno;
    if (fd.is_open()) {
      claims.held.push_back(std::move(fd));
      continue;
    }
    if (error != EADDRINUSE) {
      claims.warnings.push_back(
          absl::StrCat("device ", number, " is not claimed, so another job may use it, too: ", std::strerror(error)));
      continue;
    }
    const std::optional<ucred> holder = HolderOf(name, pauses);
    if (holder && MayUse(*holder, DeviceFile(number, options))) return Refuse(number, *holder);
    const std::string who = ++named <= kMaxNamedDevices ? HolderText(holder) : "another program";
    claims.warnings.push_back(absl::StrCat("the claim on device ", number, " is held by ", who,
                                           holder ? ", which can't use " : ", which possibly can't use ",
                                           DeviceFile(number, options),
                                           "; the claim is ignored, and another job may use the device, too"));
  }
  return claims;
}

}  // namespace muster::agent
