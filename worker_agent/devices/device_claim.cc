#include "worker_agent/devices/device_claim.h"

#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

namespace muster::agent {
namespace {

constexpr size_t kLongestSocketName = sizeof(sockaddr_un::sun_path) - 1;  // without the zero that it begins with
constexpr size_t kMostSocketsText = 4 * 1024 * 1024;                      // of /proc/net/unix
constexpr int kBacklog = 4096;  // who asks is let in by nobody, and stays in the queue
constexpr int kListenAttempts = 20;
constexpr int kListenPauseMs = 5;
constexpr int kMostGroups = 1024;
constexpr size_t kMaxUserRecord = 16 * 1024;

std::string KindsFile(const std::string& kind) { return kind == "Ascend" ? "davinci" : "nvidia"; }

std::string DeviceFile(uint32_t number, const DeviceClaimOptions& options) {
  return absl::StrCat(options.folder, "/", KindsFile(options.kind), number);
}

std::string ClaimName(uint32_t number, const DeviceClaimOptions& options) {
  // (A test has devices of its own.)
  const std::string place =
      options.folder == "/dev" ? "" : absl::BytesToHexString(Sha256(options.folder)).substr(0, 16) + "/";
  return absl::StrCat("muster-device/", place, KindsFile(options.kind), number);
}

// Says whose claims the process's are.
std::string OwnerPrefix(pid_t pid) { return absl::StrCat("muster-devices-of/", pid, "/"); }

socklen_t FillAddress(const std::string& name, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  const size_t size = std::min(name.size(), kLongestSocketName);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

// Not open: somebody has the name, or (errno) there is no socket to be had.
UniqueFd TakeName(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  const socklen_t size = FillAddress(name, address);
  // Nobody is let in: that it listens makes the kernel tell who has it.
  if (fd.is_open() &&
      (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd.get(), kBacklog) != 0)) {
    const int error = errno;
    fd.reset();
    errno = error;
  }
  return fd;
}

// Who listens there; nullopt: it doesn't tell. A claim listens at once, so who doesn't is none.
std::optional<ucred> HolderOf(const std::string& name) {
  sockaddr_un address{};
  const socklen_t size = FillAddress(name, address);
  for (int attempt = 0; attempt < kListenAttempts; ++attempt) {
    if (attempt > 0) ::poll(nullptr, 0, kListenPauseMs);
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ucred holder{};
    socklen_t holder_size = sizeof(holder);
    if (fd.is_open() && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &holder, &holder_size) == 0) {
      return holder;
    }
  }
  return std::nullopt;
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
  std::vector<gid_t> groups(kMostGroups);
  int count = kMostGroups;
  if (::getgrouplist(user.name.c_str(), user.group, groups.data(), &count) < 0) return false;
  return std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

bool MayUse(const ucred& holder, const std::string& device_file) {
  if (holder.uid == 0 || holder.uid == geteuid()) return true;
  struct stat file {};
  if (::stat(device_file.c_str(), &file) != 0) return true;  // nothing speaks against it
  if ((file.st_mode & S_IWOTH) != 0) return true;
  if (file.st_uid == holder.uid) return (file.st_mode & S_IWUSR) != 0;
  return (file.st_mode & S_IWGRP) != 0 && (file.st_gid == holder.gid || IsInGroup(LookUp(holder.uid), file.st_gid));
}

// "job digits (pid 4711, user alice, since …)": what the agent with this number has said of itself.
std::string HolderText(const std::optional<ucred>& holder) {
  if (!holder) return "a program that does not say who it is";
  const std::string user = LookUp(holder->uid).name;
  const std::string who = user.empty() ? absl::StrCat("uid ", holder->uid) : absl::StrCat("user ", user);
  if (holder->pid <= 0) return absl::StrCat("a process of another container (", who, ")");
  std::string job, since;
  const absl::StatusOr<std::string> sockets = ReadSmallFile("/proc/net/unix", kMostSocketsText);
  const std::string prefix = absl::StrCat(" @", OwnerPrefix(holder->pid));
  if (const size_t at = sockets.ok() ? sockets->find(prefix) : std::string::npos; at != std::string::npos) {
    const absl::string_view rest = absl::string_view(*sockets).substr(at + prefix.size(), kLongestSocketName);
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(rest.substr(0, rest.find('\n')), absl::MaxSplits('/', 1));
    int64_t seconds = 0;
    if (absl::SimpleAtoi(words.first, &seconds)) {
      since = absl::FormatTime(", since %Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(seconds), absl::LocalTimeZone());
    }
    if (IsId(std::string(words.second))) job = std::string(words.second);
  }
  return absl::StrCat(job.empty() ? "a process" : absl::StrCat("job ", job), " (pid ", holder->pid, ", ", who, since,
                      ")");
}

absl::Status Refuse(uint32_t number, const ucred& holder) {
  return absl::UnavailableError(absl::StrCat("devices: device ", number, " is used by ", HolderText(holder),
                                             ": wait for its end, or give this job others (--devices, MS_DEVICES); "
                                             "without --devices it would not be asked who uses them"));
}

}  // namespace

absl::StatusOr<DeviceClaims> ClaimDevices(const std::vector<uint32_t>& numbers, const DeviceClaimOptions& options) {
  DeviceClaims claims;
  if (numbers.empty()) return claims;
  // (Where this one can't be had, who is refused is told less.)
  UniqueFd owner = TakeName(absl::StrCat(OwnerPrefix(getpid()), options.now_unix_ms / 1000, "/", options.job_id));
  if (owner.is_open()) claims.held.push_back(std::move(owner));
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
    const std::optional<ucred> holder = HolderOf(name);
    if (holder && MayUse(*holder, DeviceFile(number, options))) return Refuse(number, *holder);
    claims.warnings.push_back(absl::StrCat("the claim on device ", number, " is held by ", HolderText(holder),
                                           holder ? ", who can't use " : ", and who need not use ",
                                           DeviceFile(number, options),
                                           "; it does not count, and another job may use the device, too"));
  }
  return claims;
}

}  // namespace muster::agent
