#include "worker_agent/gateway/mpi/pmix/pmix_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/exit_status.h"
#include "common/base/os_error.h"
#include "common/base/text.h"
#include "common/sys/child/child.h"
#include "common/sys/wait.h"
#include "worker_agent/gateway/mpi/pmix/frames.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {
namespace {

using pmix::Kind;

constexpr absl::Duration kReadyPatience = absl::Seconds(5);
constexpr absl::Duration kEndPatience = absl::Seconds(1);
constexpr size_t kMaxVariables = 256;
constexpr char kMemoryPrefix[] = "muster-mpi-";
constexpr char kNeeds[] = " before it was ready (it needs libpmix2)";

// Keeps hwloc from probing displays and from starting the drivers of devices. MPI needs neither.
constexpr char kHwlocComponents[] = "HWLOC_COMPONENTS=-gl,-opencl,-cuda,-nvml,-rsmi,-levelzero";

// Returns the part of this process's environment that libpmix gets. If the agent is a PMIx client itself (srun
// --mpi=pmix), the variables for this client must not reach ms-pmix.
std::vector<std::string> EnvironmentOfServer() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    for (const char* name : {"PATH=", "HOME=", "LANG=", "LD_LIBRARY_PATH=", "PMIX_MCA_", "HWLOC_"}) {
      if (absl::StartsWith(*variable, name)) kept.emplace_back(*variable);
    }
  }
  if (::getenv("HWLOC_COMPONENTS") == nullptr) kept.emplace_back(kHwlocComponents);
  return kept;
}

// Removes the folders of this user's agents that were killed together with their ms-pmix. The lock of such a folder is
// free. A young folder is kept, since its agent may not have locked it yet.
void RemoveDeadFolders(const std::string& memory) {
  constexpr absl::Duration kYoung = absl::Minutes(1);
  std::error_code error;
  for (std::filesystem::directory_iterator at(memory, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (!absl::StartsWith(at->path().filename().string(), kMemoryPrefix)) continue;
    const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!folder.is_open() || ::fstat(folder.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (ToAbslTime(Clock::System().Read().wall) - absl::FromTimeT(info.st_mtime) < kYoung) continue;
    std::error_code ignored;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(path, ignored);
  }
}

std::string EndInWords(const ExitStatus& end) {
  return end.signal != 0 ? absl::StrCat("was killed by signal ", end.signal)
                         : absl::StrCat("ended with code ", end.code);
}

std::string SetupFor(const RoundLayout& layout, const std::string& folder, const std::string& memory) {
  std::string setup =
      absl::StrCat("nspace=muster-", layout.id, "\nfolder=", folder, "\nmemory=", memory, "\nown=", layout.own, "\n");
  for (const RoundLayout::Agent& agent : layout.agents) {
    absl::StrAppend(&setup, "agent=", absl::StrJoin(agent.ranks, ","), "\n");
  }
  return setup;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PmixProcess>> PmixProcess::Start(PmixOptions options, const RoundLayout& layout) {
  std::unique_ptr<PmixProcess> process(new PmixProcess(std::move(options)));
  if (absl::Status begun = process->Begin(layout); !begun.ok()) return begun;
  return process;
}

absl::Status PmixProcess::Begin(const RoundLayout& layout) {
  if (::mkdir(options_.folder.c_str(), 0700) != 0) {
    const int error = errno;
    return At(LaunchStep::kWorkFile, FileError(absl::StrCat("MPI: can't make ", options_.folder), error));
  }
  MakeMemoryFolder();
  if (absl::Status spawned = Spawn(); !spawned.ok()) return spawned;
  const std::string setup = SetupFor(layout, options_.folder, memory_folder_);
  if (absl::Status sent = Send(pmix::Encode(Kind::kSetup, setup)); !sent.ok()) return sent;
  return WaitUntilReady(layout.own_agent().ranks.size());
}

PmixProcess::~PmixProcess() {
  End();
  std::error_code ignored;
  std::filesystem::remove_all(options_.folder, ignored);
  if (!memory_folder_.empty()) std::filesystem::remove_all(memory_folder_, ignored);
}

// Makes the folder for memory that ranks share. Without it, ranks share memory where Open MPI does it by default.
void PmixProcess::MakeMemoryFolder() {
  std::string name = absl::StrCat(options_.memory, "/", kMemoryPrefix, "XXXXXX");
  RemoveDeadFolders(options_.memory);
  if (::mkdtemp(name.data()) == nullptr) return;
  memory_folder_ = name;
  memory_lock_.reset(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (memory_lock_.is_open()) ::flock(memory_lock_.get(), LOCK_EX | LOCK_NB);
}

// Starts ms-pmix in a process group of its own, so that a Ctrl-C does not reach it.
absl::Status PmixProcess::Spawn() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return At(LaunchStep::kStreams, OsError(absl::StatusCode::kResourceExhausted, "MPI: socketpair", errno));
  }
  socket_.reset(pair[0]);
  const UniqueFd theirs(pair[1]);
  ChildOptions child;
  child.argv = {options_.program};
  child.env = EnvironmentOfServer();
  child.env.push_back(absl::StrCat("TMPDIR=", options_.folder));
  child.in = theirs.get();
  child.out = STDOUT_FILENO;
  child.err = STDERR_FILENO;
  child.third = memory_lock_.get();  // so that the folder stays locked if the agent is killed
  const int error = StartChild(child, pid_);
  if (error == 0) return absl::OkStatus();
  pid_ = -1;
  return At(LaunchStep::kOwnProgram, FileError(absl::StrCat("MPI: can't start ", options_.program), error));
}

absl::Status PmixProcess::Send(std::string frame) {
  while (!frame.empty()) {
    if (WaitFor(socket_.get(), POLLOUT, kReadyPatience) == 0)
      return absl::UnavailableError("MPI: ms-pmix does not read its input");
    const ssize_t sent = ::send(socket_.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return At(LaunchStep::kOwnProgram, absl::UnavailableError(absl::StrCat("MPI: ms-pmix ", End(), kNeeds)), ELIBACC);
    }
    if (sent > 0) frame.erase(0, static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::Status PmixProcess::WaitUntilReady(size_t slots) {
  bool is_broken = false;
  while (true) {
    if (const std::optional<pmix::Frame> frame = pmix::TakeFrame(input_, is_broken)) {
      if (frame->kind == Kind::kReady) return TakeVariables(frame->bytes, slots);
      const std::string said = frame->kind == Kind::kFailed ? frame->bytes : "(a message of an unexpected kind)";
      return absl::UnavailableError(absl::StrCat("MPI: ms-pmix says: ", Quoted(said, 256)));
    }
    if (is_broken || WaitFor(socket_.get(), POLLIN, kReadyPatience) == 0) {
      return absl::UnavailableError("MPI: ms-pmix did not become ready within 5 s");
    }
    char bytes[4096];
    const ssize_t size = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size == 0)
      return At(LaunchStep::kOwnProgram, absl::UnavailableError(absl::StrCat("MPI: ms-pmix ", End(), kNeeds)), ELIBACC);
    if (size > 0) input_.append(bytes, static_cast<size_t>(size));
  }
}

absl::Status PmixProcess::TakeVariables(const std::string& bytes, size_t slots) {
  variables_.resize(1);
  for (const absl::string_view variable : absl::StrSplit(bytes, '\0')) {
    if (variable.empty()) {
      variables_.emplace_back();
      continue;
    }
    const std::pair<std::string, std::string> named = absl::StrSplit(variable, absl::MaxSplits('=', 1));
    if (variables_.back().size() < kMaxVariables) variables_.back().insert(named);
  }
  if (variables_.size() < slots) return absl::InternalError("MPI: ms-pmix did not send the variables of all ranks");
  variables_.resize(slots);
  if (memory_folder_.empty()) return absl::OkStatus();
  for (auto& variables : variables_) {
    for (const char* component : {"btl_vader", "osc_rdma", "osc_sm"}) {
      variables[absl::StrCat("OMPI_MCA_", component, "_backing_directory")] = memory_folder_;
    }
  }
  return absl::OkStatus();
}

// Closes the socket, so that ms-pmix ends; kills it if it has not ended in time. Returns how it ended, in words.
std::string PmixProcess::End() {
  if (pid_ < 0) return "has ended";
  socket_.reset();
  const pid_t pid = std::exchange(pid_, -1);
  if (AwaitChild(pid, kEndPatience) == ChildState::kRuns) ::kill(pid, SIGKILL);
  const std::optional<ExitStatus> end = ReapChild(pid);
  return end ? EndInWords(*end) : "has ended";
}

}  // namespace muster::agent
