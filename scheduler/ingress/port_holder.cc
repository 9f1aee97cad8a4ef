#include "scheduler/ingress/port_holder.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_io.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxText = 64 << 20;  // bytes of /proc/net/tcp that are read at most

std::string ReadAll(const std::string& path) { return ReadSmallFile(path, kMaxText).value_or(""); }

std::string UserName(uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) return entry.pw_name;
  return absl::StrCat(uid);
}

// True if the process has this socket open. False also if this user may not see its descriptors.
bool HasSocket(const fs::path& process, const std::string& link) {
  std::error_code error;
  for (fs::directory_iterator it(process / "fd", error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;
    if (fs::read_symlink(it->path(), unreadable) == link && !unreadable) return true;
  }
  return false;
}

std::string DescribeOwner(const ListeningSocket& socket) {
  const std::string link = absl::StrCat("socket:[", socket.inode, "]");
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string pid = it->path().filename().string();
    uint32_t number = 0;
    if (!absl::SimpleAtoi(pid, &number) || !HasSocket(it->path(), link)) continue;
    std::string name = ReadAll(absl::StrCat("/proc/", pid, "/comm"));
    absl::StripTrailingAsciiWhitespace(&name);
    return absl::StrCat(name, " (pid ", pid, ", user ", UserName(socket.uid), ")");
  }
  return absl::StrCat("a process of user ", UserName(socket.uid));
}

}  // namespace

std::vector<ListeningSocket> FindListening(const std::string& proc_net_tcp, uint16_t port) {
  // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …
  constexpr size_t kLocal = 1, kState = 3, kUid = 7, kInode = 9;
  const std::string wanted = absl::StrCat(":", absl::Hex(port, absl::kZeroPad4));
  std::vector<ListeningSocket> found;
  for (absl::string_view line : absl::StrSplit(proc_net_tcp, '\n')) {
    const std::vector<std::string> columns = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (columns.size() <= kInode || columns[kState] != "0A") continue;
    if (!absl::EndsWithIgnoreCase(columns[kLocal], wanted)) continue;
    ListeningSocket socket;
    if (absl::SimpleAtoi(columns[kUid], &socket.uid) && absl::SimpleAtoi(columns[kInode], &socket.inode)) {
      found.push_back(socket);
    }
  }
  return found;
}

std::string DescribePortHolder(uint16_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::vector<ListeningSocket> found = FindListening(ReadAll(table), port);
    if (!found.empty()) return DescribeOwner(found.front());
  }
  return "";
}

}  // namespace muster::scheduler
