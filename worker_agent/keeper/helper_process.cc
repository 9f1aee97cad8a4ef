#include "worker_agent/keeper/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file_io.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/channel.h"
#include "worker_agent/keeper/error_file.h"
#include "worker_agent/keeper/log_file.h"
#include "worker_agent/keeper/own_process.h"
#include "worker_agent/keeper/same_file.h"
#include "worker_agent/keeper/wire.h"

namespace muster::agent {
namespace {

constexpr int64_t kKilledMs = 200;  // until a killed one that doesn't hang is gone

class FileServant {
 public:
  std::string Do(const OpenLogRequest& open) {
    if (open.begins) ::unlink(open.path.c_str());
    absl::StatusOr<LogFile> log = LogFile::Open(open.path);
    if (!log.ok()) return std::string(log.status().message());
    logs_.insert_or_assign(open.log, *std::move(log));
    return {};
  }
  std::string Do(const AppendRequest& append) {
    const auto log = logs_.find(append.log);
    return log == logs_.end() ? "" : log->second.Append(append.bytes);
  }
  std::string Do(const CloseLogRequest& close) {
    logs_.erase(close.log);
    return {};
  }
  std::string Do(const RemoveRequest& remove) {
    ::unlink(remove.path.c_str());
    return {};
  }
  std::string Do(const WriteRequest& write) {
    std::error_code ignored;  // WriteFileAtomically tells what is wrong, if anything
    std::filesystem::create_directories(std::filesystem::path(write.path).parent_path(), ignored);
    return std::string(WriteFileAtomically(write.path, write.content, 0644).message());
  }
  std::string Do(const ReadErrorFileRequest& read) { return ReadErrorFile(read.path); }

 private:
  std::map<uint32_t, LogFile> logs_;
};

void ServeFiles(UniqueFd socket) {
  Channel channel(std::move(socket));
  FileServant servant;
  bool is_open = true;
  while (is_open || channel.pending_bytes() > 0) {
    const short wanted = channel.pending_bytes() > 0 ? POLLIN | POLLOUT : POLLIN;
    pollfd ready{channel.fd(), wanted, 0};
    ::poll(&ready, 1, -1);
    channel.Flush();
    std::vector<std::string> requests;
    is_open = channel.Receive(requests);
    for (const std::string& bytes : requests) {
      const absl::StatusOr<FileRequest> request = DecodeFileRequest(bytes);
      if (!request.ok()) return;
      channel.Send(std::visit([&](const auto& what) { return servant.Do(what); }, *request));
    }
  }
}

void Relay(const UniqueFd& socket, const UniqueFd& file) {
  static char buffer[64 * 1024];
  while (true) {
    const ssize_t n = ::read(socket.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    for (ssize_t written = 0; written < n;) {
      const ssize_t taken = ::write(file.get(), buffer + written, static_cast<size_t>(n - written));
      if (taken < 0 && errno == EINTR) continue;
      if (taken <= 0) break;  // a full disk: there is nobody to tell but that file
      written += taken;
    }
  }
}

absl::Status Fork(const char* name, UniqueFd file, void (*work)(UniqueFd socket, UniqueFd file),
                  HelperProcess& helper) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("can't start ", name, ": socketpair: ", std::strerror(errno)));
  }
  helper.socket.reset(sockets[0]);
  UniqueFd theirs(sockets[1]);
  helper.pid = ::fork();
  if (helper.pid < 0) {
    helper.pid = 0;
    return absl::ResourceExhaustedError(absl::StrCat("can't start ", name, ": fork: ", std::strerror(errno)));
  }
  if (helper.pid > 0) return absl::OkStatus();
  BecomeOwnProcess(name, {theirs.get(), file.get()});
  // Nobody shall wait for the end of a pipe, or sit on a terminal, because of us.
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; fd <= 2 && null.is_open(); ++fd) ::dup2(null.get(), fd);
  work(std::move(theirs), std::move(file));
  ::_exit(0);
}

absl::Status ForkFileHelper(HelperProcess& helper) {
  return Fork(
      "ms-keeper-files", UniqueFd(), [](UniqueFd socket, UniqueFd) { ServeFiles(std::move(socket)); }, helper);
}

absl::Status ForkRelay(int fd, HelperProcess& helper) {
  UniqueFd file(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!file.is_open()) return absl::ResourceExhaustedError(absl::StrCat("dup: ", std::strerror(errno)));
  return Fork(
      "ms-keeper-relay", std::move(file), [](UniqueFd socket, UniqueFd file) { Relay(socket, file); }, helper);
}

bool IsFile(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

absl::StatusOr<KeeperHelpers> KeeperHelpers::Fork() {
  KeeperHelpers helpers;
  absl::Status status = ForkFileHelper(helpers.logs);
  if (status.ok()) status = ForkFileHelper(helpers.files);
  if (status.ok() && IsFile(STDOUT_FILENO)) status = ForkRelay(STDOUT_FILENO, helpers.out);
  const bool are_one = helpers.out.pid != 0 && IsSameFile(STDOUT_FILENO, STDERR_FILENO);
  if (status.ok() && IsFile(STDERR_FILENO) && !are_one) status = ForkRelay(STDERR_FILENO, helpers.err);
  if (!status.ok()) return status;
  return helpers;
}

void KeeperHelpers::TakeStandardStreams() {
  const bool are_one = out.pid != 0 && IsSameFile(STDOUT_FILENO, STDERR_FILENO);
  if (out.pid != 0) ::dup2(out.socket.get(), STDOUT_FILENO);
  if (are_one) ::dup2(out.socket.get(), STDERR_FILENO);
  if (err.pid != 0) ::dup2(err.socket.get(), STDERR_FILENO);
}

std::vector<pid_t> KeeperHelpers::pids() const {
  std::vector<pid_t> pids;
  for (const HelperProcess* helper : {&logs, &files, &out, &err}) {
    if (helper->pid != 0) pids.push_back(helper->pid);
  }
  return pids;
}

bool EndHelper(pid_t pid, int64_t deadline_ms) {
  bool is_killed = false;
  for (int wait_ms = 1;; wait_ms = std::min(2 * wait_ms, 20)) {
    const pid_t reaped = ::waitpid(pid, nullptr, WNOHANG);
    if (reaped == pid || (reaped < 0 && errno == ECHILD)) return true;
    if (BootTimeMs() >= deadline_ms) {
      if (is_killed) return false;
      is_killed = true;
      ::kill(pid, SIGKILL);  // not reaped, so the number is still its own
      deadline_ms = BootTimeMs() + kKilledMs;
      wait_ms = 1;
    }
    ::poll(nullptr, 0, wait_ms);
  }
}

}  // namespace muster::agent
