#include "worker_agent/keeper/files/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/sys/child/child.h"
#include "common/sys/file_io.h"
#include "common/sys/live_output.h"
#include "common/sys/private_folder.h"
#include "common/sys/shared_line.h"
#include "common/sys/wait.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/channel.h"
#include "worker_agent/keeper/files/device_log.h"
#include "worker_agent/keeper/files/error_file.h"
#include "worker_agent/keeper/files/log_file.h"
#include "worker_agent/keeper/files/run_logs.h"
#include "worker_agent/keeper/files/same_file.h"
#include "worker_agent/keeper/process/own_process.h"
#include "worker_agent/keeper/wire.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kKilledPatience = absl::Milliseconds(200);  // a killed helper is gone by then, unless it hangs

class FileServant {
 public:
  std::string Do(const OpenLogRequest& open) {
    absl::StatusOr<LogFile> log = LogFile::Open(open.path);
    if (!log.ok()) return Pack(LaunchErrorOf(log.status()));
    logs_.insert_or_assign(open.log, *std::move(log));
    run_.LinkNewest(open.path);  // its text is dropped: a text returned from here means that the log can't be opened
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
    RemoveFile(remove.path);
    return {};
  }
  std::string Do(const WriteRequest& write) {
    // Makes only the folder; WriteFileAtomically reports any error.
    OpenFolder(SplitPath(write.path).folder, {FolderTrust::kShared, /*makes_missing=*/true}).IgnoreError();
    const absl::Status written = WriteFileAtomically(write.path, write.content, 0644);
    return written.ok() ? run_.LinkNewest(write.path) : std::string(written.message());
  }
  std::string Do(const BeginRunRequest& begin) { return run_.Begin(begin.folder); }
  std::string Do(const ReadErrorFileRequest& read) { return ReadErrorFile(read.path); }
  std::string Do(const ReadDeviceLogRequest& read) { return ReadDeviceLog(read.folder, read.pid); }

 private:
  std::map<uint32_t, LogFile> logs_;
  RunLogs run_;
};

void ServeFiles(UniqueFd socket) {
  Channel channel(std::move(socket));
  FileServant servant;
  bool is_open = true;
  while (is_open || channel.pending_bytes() > 0) {
    const short wanted = channel.pending_bytes() > 0 ? POLLIN | POLLOUT : POLLIN;
    WaitFor(channel.fd(), wanted, absl::InfiniteDuration());
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

// Copies bytes from `socket` to `file` until the socket is closed. `line`: the file's SharedLine if the agent writes
// there too. Returns the errno of a write that lost output, or 0. That is the helper's exit code, which the agent
// reports. The helper can't report it itself, because it keeps no stderr: it may hang in the file for ever, and a
// reader of stderr would wait for its end.
int Relay(const UniqueFd& socket, const UniqueFd& file, SharedLine* line) {
  static char buffer[64 * 1024];
  LiveOutput output(file.get(), line);
  while (true) {
    const ssize_t n = ::read(socket.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return output.lost_error();
    output.Write(std::string_view(buffer, static_cast<size_t>(n)), BootTime());
    output.AwaitLine(BootTime);
  }
}

// Forks a helper that runs `work` and ends with the exit code that `work` returns.
absl::Status Fork(const char* name, UniqueFd file, int (*work)(UniqueFd socket, UniqueFd file), HelperProcess& helper) {
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
  LeaveStandardStreams();
  ::_exit(work(std::move(theirs), std::move(file)));
}

absl::Status ForkFileHelper(HelperProcess& helper) {
  return Fork(
      "ms-keeper-files", UniqueFd(),
      [](UniqueFd socket, UniqueFd) {
        ServeFiles(std::move(socket));
        return 0;
      },
      helper);
}

absl::Status ForkRelay(int fd, bool has_stderr, HelperProcess& helper) {
  UniqueFd file(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!file.is_open()) return absl::ResourceExhaustedError(absl::StrCat("dup: ", std::strerror(errno)));
  const auto relay_stderr = [](UniqueFd socket, UniqueFd file) { return Relay(socket, file, SharedLine::OfStderr()); };
  const auto relay_other = [](UniqueFd socket, UniqueFd file) { return Relay(socket, file, nullptr); };
  if (has_stderr) return Fork("ms-keeper-relay", std::move(file), relay_stderr, helper);
  return Fork("ms-keeper-relay", std::move(file), relay_other, helper);
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
  const bool are_same = IsSameFile(STDOUT_FILENO, STDERR_FILENO);
  if (status.ok() && IsFile(STDOUT_FILENO)) status = ForkRelay(STDOUT_FILENO, are_same, helpers.out);
  const bool are_one = helpers.out.pid != 0 && are_same;
  if (status.ok() && IsFile(STDERR_FILENO) && !are_one) status = ForkRelay(STDERR_FILENO, true, helpers.err);
  if (!status.ok()) return status;
  return helpers;
}

void KeeperHelpers::TakeStandardStreams() {
  const bool are_one = out.pid != 0 && IsSameFile(STDOUT_FILENO, STDERR_FILENO);
  if (out.pid != 0) ::dup2(out.socket.get(), STDOUT_FILENO);
  if (are_one) ::dup2(out.socket.get(), STDERR_FILENO);
  if (err.pid != 0) ::dup2(err.socket.get(), STDERR_FILENO);
  if (are_one || err.pid != 0) SharedLine::LeaveStderr();  // only the relay writes to the agent's stderr now
}

std::vector<pid_t> KeeperHelpers::pids() const {
  std::vector<pid_t> pids;
  for (const HelperProcess* helper : {&logs, &files, &out, &err}) {
    if (helper->pid != 0) pids.push_back(helper->pid);
  }
  return pids;
}

bool EndHelper(pid_t pid, MonotonicTime deadline, int& lost_error) {
  ChildState state = AwaitChild(pid, deadline - BootTime());
  if (state == ChildState::kRuns) {
    ::kill(pid, SIGKILL);  // not reaped, so its pid can't mean another process
    state = AwaitChild(pid, kKilledPatience);
  }
  if (state == ChildState::kRuns) return false;
  const std::optional<ExitStatus> exit = ReapChild(pid);
  if (exit && exit->code != 0) lost_error = exit->code;
  return true;
}

}  // namespace muster::agent
