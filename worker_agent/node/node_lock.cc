#include "worker_agent/node/node_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"
#include "common/sys/private_folder.h"
#include "common/sys/wait.h"
#include "worker_agent/node/orphans.h"

namespace muster::agent {
namespace {

constexpr uint32_t kMaxAgents = kMaxSlotsPerNode;  // the most agents of one job on one machine without MS_NODE_ID
constexpr absl::Duration kRetryPause = absl::Milliseconds(20);
constexpr absl::Duration kSayAfter = absl::Milliseconds(500);
constexpr absl::Duration kMaxWriting = absl::Seconds(1);  // how long a new holder may take to write its pid
constexpr size_t kMaxNamed = 8;                           // a message names at most so many left processes
constexpr size_t kDigestHexDigits = 16;
constexpr size_t kMaxInName = 64;
constexpr size_t kMaxRecord = 8192;  // it contains a path

// Returns a file name for the text. Different texts have different names.
std::string PathName(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, kMaxInName)) {
    name += absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ? c : '_';
  }
  return name == text ? name
                      : absl::StrCat(name, "-", absl::BytesToHexString(Sha256(text)).substr(0, kDigestHexDigits));
}

LockRecord ReadRecord(int fd) {
  char text[kMaxRecord];
  const ssize_t size = pread(fd, text, sizeof(text), 0);
  return size <= 0 ? LockRecord() : LockRecord::Decode(std::string(text, static_cast<size_t>(size)));
}

std::string Named(const std::vector<Orphan>& orphans) {
  std::string names;
  for (size_t i = 0; i < std::min(orphans.size(), kMaxNamed); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ", "pid ", orphans[i].pid, " (", orphans[i].why, ")");
  }
  if (orphans.size() > kMaxNamed) absl::StrAppend(&names, " and ", orphans.size() - kMaxNamed, " more");
  return names;
}

std::string FormerText(const LockRecord& former) {
  return absl::StrCat("the former start of this node (pid ", former.pid,
                      former.place.host.empty() ? "" : absl::StrCat(" on ", former.place.host), ")");
}

// Ends the processes that the former start has left, as far as this user may. Returns why some may still run; empty:
// all have ended.
std::string WhyUnclear(const LockRecord& former, const NodeLock::Options& options) {
  switch (Judge(former, options.place)) {
    case FormerStart::kGone:
      return "";
    case FormerStart::kElsewhere:
      return absl::StrCat(FormerText(former),
                          " ran on another machine, it seems; its processes can't be seen from here");
    case FormerStart::kUnseen: {
      const bool has_boot_ids = !former.place.boot.empty() && !options.place.boot.empty();
      return absl::StrCat(FormerText(former),
                          !former.is_whole ? " has left no complete record"
                          : has_boot_ids   ? " ran in another container (pid namespace)"
                                           : " ran on an unknown machine (there is no boot id)",
                          "; its processes can't be seen from here");
    }
    case FormerStart::kLook:
      break;
  }
  // Start times from another time namespace can't be compared: they are shifted.
  const uint64_t not_before = former.place.times == options.place.times ? former.place.start_time : 0;
  const Orphans found = EndOrphans({former.mark, former.secret, not_before}, options.orphans_patience);
  if (found.are_none()) return "";
  if (!found.left.empty()) {
    return absl::StrCat("processes of ", FormerText(former), " still run: ", Named(found.left), "; end them");
  }
  if (!found.unclear.empty()) {
    return absl::StrCat("these may be processes of ", FormerText(former), ": ", Named(found.unclear));
  }
  return absl::StrCat("processes of ", FormerText(former), " may still run: ", found.blind);
}

enum class Outcome { kTaken, kHeld };

// Locks the file `name`. Between open and flock another agent may remove the file; this then tries again, so that the
// lock is on the file that has the name now.
absl::StatusOr<Outcome> TryLock(const UniqueFd& folder, const std::string& path, const std::string& name,
                                UniqueFd& fd) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    absl::StatusOr<UniqueFd> file = OpenOwnFile(folder, path, name, O_RDWR | O_CREAT, 0600);
    if (!file.ok()) return file.status();
    fd = *std::move(file);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return Outcome::kHeld;
      return absl::UnavailableError(absl::StrCat("cannot lock ", path, "/", name, ": ", std::strerror(errno)));
    }
    struct stat ours {
    }, named{};
    if (fstat(fd.get(), &ours) == 0 && fstatat(folder.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        ours.st_ino == named.st_ino && ours.st_dev == named.st_dev) {
      return Outcome::kTaken;
    }
  }
  return absl::UnavailableError(absl::StrCat("cannot lock ", path, "/", name, ": it is removed again and again"));
}

}  // namespace

std::string NodeLock::MachineKey() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const absl::StatusOr<std::string> id = ReadSmallFile("/etc/machine-id", 256);
  return absl::BytesToHexString(Sha256(absl::StrCat(host, " ", id.ok() ? *id : ""))).substr(0, kDigestHexDigits);
}

absl::StatusOr<NodeLock> NodeLock::Take(const Options& options) {
  const std::string path = absl::StrCat(options.folder, "/nodes/", options.machine, "/",
                                        PathName(absl::StrCat(options.job_id, "@", options.scheduler)));
  absl::StatusOr<UniqueFd> folder = OpenFolder(path, {FolderTrust::kPrivate, /*makes_missing=*/true});
  if (!folder.ok()) {
    return absl::Status(folder.status().code(), absl::StrCat(folder.status().message(),
                                                             "; set MS_RECOVERY_PATH to a folder of this user's own"));
  }
  const MonotonicTime begun = Clock::System().Read().monotonic;
  bool was_said = false;
  for (uint32_t k = 0; k < kMaxAgents;) {
    const std::string name = options.node_id.empty() ? absl::StrCat(k) : PathName("id-" + options.node_id);
    UniqueFd fd;
    const absl::StatusOr<Outcome> outcome = TryLock(*folder, path, name, fd);
    if (!outcome.ok()) return outcome.status();
    LockRecord record = ReadRecord(fd.get());
    if (*outcome == Outcome::kTaken) {
      // The record is from another machine, where this lock may have no effect: a living pod may still use this number.
      if (options.node_id.empty() && record.pid != 0 && Judge(record, options.place) == FormerStart::kElsewhere) {
        ++k;
        continue;
      }
      const std::string doubt = record.pid == 0 ? "" : WhyUnclear(record, options);
      if (!doubt.empty()) {
        Log(Severity::kWarning,
            absl::StrCat(doubt,
                         "; a running job waits until you have ensured that they have ended, and run `ms-ctl fence`"));
      }
      if (!doubt.empty() || record.token.empty()) record.token = RandomHex(8);
      record.ended = doubt.empty() ? record.EndedWithIt() : std::vector<uint64_t>();
      record.has_joined = false;
      record.pid = getpid();
      record.secret = RandomHex(16);
      record.mark = options.mark;
      record.place = options.place;
      if (!options.node_id.empty()) record.id.clear();
      ++record.take;
      NodeLock lock(path, name, *std::move(folder), std::move(fd), std::move(record), doubt);
      if (absl::Status status = lock.Write(); !status.ok()) return status;
      return lock;
    }
    const absl::Duration waited = Clock::System().Read().monotonic - begun;
    // A holder writes its pid right after it has taken the lock, unless the disk is full.
    const bool is_dying = record.pid == 0 ? waited < kMaxWriting : HasHolderEnded(record, options.place);
    if (options.node_id.empty() && !is_dying) {
      ++k;
      continue;
    }
    if (waited >= (is_dying ? options.dying_patience : options.patience)) {
      return absl::UnavailableError(
          absl::StrCat(FormerText(record),
                       is_dying ? " has not ended yet" : " still runs, or another agent has the same MS_NODE_ID"));
    }
    if (waited >= kSayAfter && !std::exchange(was_said, true)) {
      Log(Severity::kInfo, absl::StrCat("waiting for ", FormerText(record), " to end"));
    }
    if (WaitFor(options.wake_fd, POLLIN, kRetryPause) != 0) {
      return absl::CancelledError(absl::StrCat(FormerText(record), " has not ended yet"));
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat("more than ", kMaxAgents, " agents without MS_NODE_ID"));
}

NodeLock::NodeLock(std::string folder, std::string name, UniqueFd held, UniqueFd fd, LockRecord record,
                   std::string doubt)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      held_(std::move(held)),
      fd_(std::move(fd)),
      record_(std::move(record)),
      doubt_(std::move(doubt)) {}

// A failed write, as on a full disk, is ignored: the next start then does not know the id.
void NodeLock::Keep(const std::string& id) {
  if (id == record_.id && record_.has_joined) return;
  record_.id = id;
  record_.has_joined = true;
  Write().IgnoreError();
}

void NodeLock::KeepFolder(const std::string& work_folder) {
  record_.work_folder = work_folder;
  Write().IgnoreError();
}

// Overwrites the old record before it cuts the file, so that a full disk does not lose it. The digest shows a record
// that was only partly written.
absl::Status NodeLock::Write() const {
  const std::string text = record_.Encode();
  if (pwrite(fd_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd_.get(), static_cast<off_t>(text.size())) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot write ", folder_, "/", name_, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

void NodeLock::Remove() {
  unlinkat(held_.get(), name_.c_str(), 0);
  const std::filesystem::path job(folder_);
  if (rmdir(job.c_str()) == 0) rmdir(job.parent_path().c_str());  // when no other lock is in it
}

}  // namespace muster::agent
