#include "scheduler/journal/owner_note.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "scheduler/journal/checksum.h"

namespace muster::scheduler {
namespace {

// Always of one length, so that it can be written in place.
std::string FirstLine(const std::string& journal_id, uint64_t acknowledged) {
  return absl::StrFormat("%s %020u %016x\n", journal_id, acknowledged,
                         static_cast<uint64_t>(Checksum(acknowledged, journal_id)));
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, HOST_NAME_MAX);
  return name;
}

}  // namespace

std::string OwnerNotePath(const std::string& journal) { return journal + ".owner"; }

std::optional<OwnerWords> ReadOwnerNote(const std::string& journal) {
  std::ifstream file(OwnerNotePath(journal));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  OwnerWords found;
  if (words.size() != 3 || !absl::SimpleAtoi(words[1], &found.acknowledged)) return std::nullopt;
  found.journal_id = words[0];
  if (FirstLine(found.journal_id, found.acknowledged) != line + "\n") return std::nullopt;
  return found;
}

std::string HolderOf(const std::string& journal) {
  std::ifstream file(OwnerNotePath(journal));
  std::string line;
  std::getline(file, line);
  return std::getline(file, line) ? line : "";
}

absl::StatusOr<OwnerNote> OwnerNote::Write(const std::string& journal, const std::string& journal_id,
                                           uint64_t acknowledged) {
  const std::string path = OwnerNotePath(journal);
  const std::string text =
      absl::StrCat(FirstLine(journal_id, acknowledged), "pid ", getpid(), " on ", HostName(), "\n");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::PermissionDeniedError(absl::StrCat(path,
                                                    " (who holds the journal) can't be opened: ", std::strerror(errno),
                                                    "; make it writable, or name another file with --journal_path"));
  }
  OwnerNote note(fd, journal_id);
  // In this order a crash in between leaves the first line whole. A full disk may leave a short note; that is borne.
  const bool is_written = pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (is_written) static_cast<void>(ftruncate(fd, static_cast<off_t>(text.size())) == 0);
  return note;
}

OwnerNote::OwnerNote(OwnerNote&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), journal_id_(std::move(other.journal_id_)) {}

OwnerNote::~OwnerNote() {
  if (fd_ >= 0) close(fd_);
}

void OwnerNote::Acknowledge(uint64_t sequence) const {
  const std::string line = FirstLine(journal_id_, sequence);
  static_cast<void>(pwrite(fd_, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()));
}

}  // namespace muster::scheduler
