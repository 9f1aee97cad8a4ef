#include "worker_agent/runtime/node_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/file_io.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/sha256.h"
#include "worker_agent/keeper/descendants.h"
#include "worker_agent/runtime/remnants.h"

namespace muster::agent {
namespace {

constexpr uint32_t kMostAgents = kMaxSlotsPerNode;  // without an id of their own, of one job on one machine
constexpr absl::Duration kPause = absl::Milliseconds(20);
constexpr absl::Duration kSayAfter = absl::Milliseconds(500);
constexpr absl::Duration kLongestWriting = absl::Seconds(1);  // of the owner's number
constexpr size_t kMostNamed = 8;                              // of the processes that a former start has left
constexpr size_t kHexDigits = 16;
constexpr size_t kLongestInName = 64;
constexpr size_t kLongestOwner = 8192;  // of the file: a path is among it

// A name that is safe in a path and still tells two apart.
std::string PathName(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, kLongestInName)) {
    name += absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ? c : '_';
  }
  return name == text ? name : absl::StrCat(name, "-", absl::BytesToHexString(Sha256(text)).substr(0, kHexDigits));
}

// What is in the file: five lines.
struct Owner {
  pid_t pid = 0;
  std::string token;
  std::string id;
  std::string work_folder;
  uint64_t take = 0;
};

Owner ReadOwner(int fd) {
  char text[kLongestOwner];
  const ssize_t size = pread(fd, text, sizeof(text), 0);
  Owner owner;
  if (size <= 0) return owner;
  const std::vector<std::string> lines = absl::StrSplit(absl::string_view(text, static_cast<size_t>(size)), '\n');
  if (lines.size() < 3 || !absl::SimpleAtoi(lines[0], &owner.pid)) return {};
  owner.token = lines[1];
  owner.id = lines[2].size() > kMaxIdBytes ? "" : lines[2];
  if (lines.size() > 4) owner.work_folder = lines[3];  // whole: another line has begun
  if (lines.size() > 5 && !absl::SimpleAtoi(lines[4], &owner.take)) owner.take = 0;
  return owner;
}

std::string NewToken() {
  std::string bytes(8, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  return absl::BytesToHexString(bytes);
}

// A dead agent's keeper may hold the lock for a moment yet, and its launcher may not have reaped it.
bool IsAgentAlive(pid_t pid) {
  const absl::StatusOr<std::string> stat = ReadSmallFile(absl::StrCat("/proc/", pid, "/stat"), 4096);
  if (!stat.ok()) return false;
  const std::optional<ProcessInfo> process = ParseProcStat(*stat);
  return process && !process->is_dead;
}

void WarnOf(const std::vector<Remnant>& left, const Owner& owner) {
  std::string names;
  for (size_t i = 0; i < std::min(left.size(), kMostNamed); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ", "pid ", left[i].pid, " of uid ", left[i].uid);
    if (left[i].uid != geteuid()) absl::StrAppend(&names, " (not this user's to kill)");
  }
  if (left.size() > kMostNamed) absl::StrAppend(&names, " and ", left.size() - kMostNamed, " more");
  Log(LogLevel::kWarning,
      absl::StrCat("processes of the former start of this node (pid ", owner.pid, ", work folder ", owner.work_folder,
                   ") still run: ", names, "; this start can't vouch for their end: end them, then ms-ctl fence"));
}

enum class Outcome { kTaken, kHeld, kFailed };

// The file's lock, on the file that the path names when it is taken: it may have been removed meanwhile.
Outcome TryLock(const std::string& path, int& fd) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return Outcome::kFailed;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK ? Outcome::kHeld : Outcome::kFailed;
    struct stat ours {
    }, named{};
    if (fstat(fd, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino) return Outcome::kTaken;
    close(fd);
    fd = -1;
  }
  errno = EAGAIN;
  return Outcome::kFailed;
}

}  // namespace

std::string NodeLock::MachineKey() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const absl::StatusOr<std::string> id = ReadSmallFile("/etc/machine-id", 256);
  return absl::BytesToHexString(Sha256(absl::StrCat(host, " ", id.ok() ? *id : ""))).substr(0, kHexDigits);
}

absl::StatusOr<NodeLock> NodeLock::Take(const Options& options) {
  const std::string folder = absl::StrCat(options.folder, "/nodes/", options.machine, "/",
                                          PathName(absl::StrCat(options.job_id, "@", options.scheduler)));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot make the folder ", folder, ": ", error.message()));

  const MonotonicTime begun = Clock::System().Read().monotonic;
  bool was_said = false;
  for (uint32_t k = 0; k < kMostAgents;) {
    const std::string path = options.node_id.empty() ? absl::StrCat(folder, "/", k)
                                                     : absl::StrCat(folder, "/", PathName("id-" + options.node_id));
    int fd = -1;
    const Outcome outcome = TryLock(path, fd);
    if (outcome == Outcome::kFailed) {
      const std::string reason = std::strerror(errno);
      if (fd >= 0) close(fd);
      return absl::UnavailableError(absl::StrCat("cannot lock ", path, ": ", reason));
    }
    const Owner owner = ReadOwner(fd);
    if (outcome == Outcome::kTaken) {
      const std::vector<Remnant> left = EndRemnants(owner.work_folder, options.remnants_patience);
      if (!left.empty()) WarnOf(left, owner);
      NodeLock lock(path, fd, owner.token.empty() || !left.empty() ? NewToken() : owner.token, owner.take + 1,
                    options.node_id.empty() ? owner.id : "");
      lock.Write();
      return lock;
    }
    close(fd);
    const absl::Duration waited = Clock::System().Read().monotonic - begun;
    // Whoever holds it writes its number at once, unless the disk is full.
    const bool is_dying = owner.pid == 0 ? waited < kLongestWriting : !IsAgentAlive(owner.pid);
    if (options.node_id.empty() && !is_dying) {
      ++k;
      continue;
    }
    if (waited >= (is_dying ? options.dying_patience : options.patience)) {
      return absl::UnavailableError(absl::StrCat("the former start of this node (pid ", owner.pid,
                                                 is_dying ? ") has not quite ended" : ") still runs"));
    }
    if (waited >= kSayAfter && !std::exchange(was_said, true)) {
      Log(LogLevel::kInfo, absl::StrCat("waiting for the former start of this node (pid ", owner.pid, ") to end"));
    }
    absl::SleepFor(kPause);
  }
  return absl::ResourceExhaustedError(absl::StrCat("more than ", kMostAgents, " agents without MS_NODE_ID"));
}

NodeLock::NodeLock(std::string path, int fd, std::string token, uint64_t take, std::string kept_id)
    : path_(std::move(path)), fd_(fd), token_(std::move(token)), take_(take), kept_id_(std::move(kept_id)) {}

NodeLock::NodeLock(NodeLock&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      token_(std::move(other.token_)),
      take_(other.take_),
      kept_id_(std::move(other.kept_id_)),
      work_folder_(std::move(other.work_folder_)) {}

NodeLock::~NodeLock() {
  if (fd_ >= 0) close(fd_);
}

void NodeLock::Keep(const std::string& id) {
  if (id == kept_id_) return;
  kept_id_ = id;
  Write();
}

void NodeLock::KeepFolder(const std::string& work_folder) {
  work_folder_ = work_folder;
  Write();
}

// First written, then cut: a full disk doesn't lose what was there.
void NodeLock::Write() const {
  const std::string text = absl::StrCat(getpid(), "\n", token_, "\n", kept_id_, "\n", work_folder_, "\n", take_, "\n");
  if (pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return;
  if (ftruncate(fd_, static_cast<off_t>(text.size())) != 0) return;
}

void NodeLock::Remove() {
  unlink(path_.c_str());
  const std::filesystem::path job = std::filesystem::path(path_).parent_path();
  if (rmdir(job.c_str()) == 0) rmdir(job.parent_path().c_str());  // when nobody else is in it
}

}  // namespace muster::agent
