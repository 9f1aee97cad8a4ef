#include "scheduler/journal/journal_reader.h"

#include <fcntl.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/check.h"
#include "common/base/unique_fd.h"
#include "scheduler/journal/sqlite_words.h"

namespace muster::scheduler {
namespace {

namespace fs = std::filesystem;

// The bytes of a database file that SQLite locks: its "shared" range (sqlite.org/lockingv3.html). A running scheduler
// holds an exclusive lock on all of them.
constexpr off_t kSharedFirst = 0x40000000 + 2;
constexpr off_t kSharedSize = 510;

absl::Status CheckNotHeld(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    const std::string what = absl::StrCat("the journal ", path, " can't be read");
    return errno == ENOENT ? absl::NotFoundError(absl::StrCat("there is no journal ", path))
                           : UnusableJournal(what, errno);
  }
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kSharedFirst;
  lock.l_len = kSharedSize;
  if (fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the journal ", path, " is held by process ", lock.l_pid,
                   ", which may change it: ask that scheduler (ms-ctl events), or stop it first"));
}

}  // namespace

absl::StatusOr<JournalReader> JournalReader::Open(const std::string& path, const std::string& temporary) {
  if (absl::Status status = CheckNotHeld(path); !status.ok()) return status;
  std::string folder = absl::StrCat(temporary, "/muster-journal.XXXXXX");
  if (mkdtemp(folder.data()) == nullptr)
    return UnusableJournal(absl::StrCat("can't make a folder in ", temporary), errno);
  const std::string copy = absl::StrCat(folder, "/journal.db");
  std::error_code error;
  for (const char* suffix : {"", "-wal", ".owner"}) {
    if (!fs::exists(path + suffix, error)) continue;
    if (!fs::copy_file(path + suffix, copy + suffix, error)) {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
      return UnusableJournal(
          absl::StrCat(path, suffix, " can't be copied to ", folder, " (set TMPDIR to copy it to another folder)"),
          error.value());
    }
  }
  absl::StatusOr<SqliteFile> file = SqliteFile::Open(copy, CheckJournalEntry);
  if (!file.ok()) {
    fs::remove_all(folder, error);
    return absl::Status(file.status().code(), absl::StrReplaceAll(file.status().message(), {{copy, path}}));
  }
  return JournalReader(std::move(folder), *std::move(file));
}

JournalReader::JournalReader(JournalReader&& other) noexcept
    : folder_(std::exchange(other.folder_, "")), file_(std::move(other.file_)) {}

JournalReader::~JournalReader() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

absl::Status JournalReader::Read(const std::function<void(uint64_t, const v1::Record&)>& take) const {
  return file_.ReadAll([&](const JournalEntry& entry) {
    v1::Record record;
    MUSTER_CHECK(record.ParseFromString(entry.body), "Open has looked at every record");
    take(entry.sequence, record);
    return absl::OkStatus();
  });
}

}  // namespace muster::scheduler
