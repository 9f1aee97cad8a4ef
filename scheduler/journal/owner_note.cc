#include "scheduler/journal/owner_note.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_io.h"
#include "common/sys/private_folder.h"
#include "scheduler/journal/checksum.h"

namespace muster::scheduler {
namespace {

constexpr size_t kMaxBytes = 4096;

// Returns the first line. For one journal it always has the same length, so that it can be overwritten in place.
std::string FirstLine(const std::string& journal_id, uint64_t acknowledged) {
  return absl::StrFormat("%s %020u %016x\n", journal_id, acknowledged,
                         static_cast<uint64_t>(Checksum(acknowledged, journal_id)));
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, HOST_NAME_MAX);
  return name;
}

// Adds advice to an error about the note. (FAILED_PRECONDITION has advice already: to remove a file that is no note.)
absl::Status NoteFailed(const absl::Status& status) {
  return {status.code(), absl::StrCat(status.message(), " (it names the journal's owner)",
                                      absl::IsFailedPrecondition(status) ? "" : ": make it readable and writable",
                                      ", or name another file with --journal_path")};
}

// Returns the note's lines, at least one (which may be empty).
absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& journal) {
  const std::string path = OwnerNotePath(journal);
  const absl::StatusOr<UniqueFd> file = OpenPlainFile(path, O_RDONLY);
  if (!file.ok()) return NoteFailed(file.status());
  const absl::StatusOr<std::string> text = ReadSmallFile(*file, path, kMaxBytes);
  if (!text.ok() && !absl::IsInvalidArgument(text.status())) return NoteFailed(text.status());
  return absl::StrSplit(text.value_or(""), '\n');  // a text that is too long is not a note
}

}  // namespace

std::string OwnerNotePath(const std::string& journal) { return journal + ".owner"; }

absl::StatusOr<std::optional<OwnerWords>> ReadOwnerNote(const std::string& journal) {
  absl::StatusOr<std::vector<std::string>> lines = ReadLines(journal);
  if (absl::IsNotFound(lines.status())) return std::nullopt;
  if (!lines.ok()) return lines.status();
  const std::vector<std::string> words = absl::StrSplit(lines->front(), ' ');
  OwnerWords found;
  if (words.size() != 3 || !absl::SimpleAtoi(words[1], &found.acknowledged)) return std::nullopt;
  found.journal_id = words[0];
  if (FirstLine(found.journal_id, found.acknowledged) != lines->front() + "\n") return std::nullopt;
  return found;
}

std::string HolderOf(const std::string& journal) {
  const absl::StatusOr<std::vector<std::string>> lines = ReadLines(journal);
  return lines.ok() && lines->size() > 1 ? (*lines)[1] : "";
}

absl::StatusOr<OwnerNote> OwnerNote::Write(const std::string& journal, const std::string& journal_id,
                                           uint64_t acknowledged) {
  const std::string path = OwnerNotePath(journal);
  const std::string text =
      absl::StrCat(FirstLine(journal_id, acknowledged), "pid ", getpid(), " on ", HostName(), "\n");
  absl::StatusOr<UniqueFd> file = OpenPlainFile(path, O_RDWR | O_CREAT, 0600);
  if (!file.ok()) return NoteFailed(file.status());
  const int fd = file->get();
  OwnerNote note(path, *std::move(file), journal_id);
  struct stat about {};
  if (fstat(fd, &about) == 0) note.identity_ = {about.st_dev, about.st_ino};
  // Write the new text first, and then cut the file to its length: a crash in between leaves a complete first line. (A
  // full disk may leave an incomplete note. ReadOwnerNote ignores it.)
  const bool is_written = pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (is_written) static_cast<void>(ftruncate(fd, static_cast<off_t>(text.size())) == 0);
  return note;
}

bool OwnerNote::IsInPlace() const {
  const absl::StatusOr<FileIdentity> now = IdentityOf(path_);
  return now.ok() ? *now == identity_ : !absl::IsNotFound(now.status());
}

void OwnerNote::Acknowledge(uint64_t sequence) const {
  const std::string line = FirstLine(journal_id_, sequence);
  static_cast<void>(pwrite(file_.get(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()));
}

}  // namespace muster::scheduler
