// Look goes by the first row that fits ("the same": the file that was opened there):
//
// | the journal's path leads to | its log's path leads to | found                                             |
// |-----------------------------|-------------------------|---------------------------------------------------|
// | another file                | anything                | another                                           |
// | anything                    | another file            | another: the next start would apply that log      |
// | unknown                     | anything                | unknown                                           |
// | anything                    | unknown                 | unknown                                           |
// | nothing                     | anything                | gone                                              |
// | the same                    | nothing                 | its log is gone                                   |
// | the same                    | the same                | in place                                          |
#include "scheduler/journal/journal_place.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {

absl::StatusOr<FileIdentity> IdentityOf(const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) == 0) return FileIdentity{about.st_dev, about.st_ino};
  const int error = errno;
  const std::string text = absl::StrCat("can't look at ", path, ": ", std::strerror(error));
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

absl::StatusOr<JournalPlace> JournalPlace::Of(const std::string& path) {
  const absl::StatusOr<FileIdentity> journal = IdentityOf(path);
  if (!journal.ok()) return journal.status();
  const absl::StatusOr<FileIdentity> log = IdentityOf(path + "-wal");
  if (!log.ok()) return log.status();
  JournalPlace place;
  place.path_ = path;
  place.journal_ = *journal;
  place.log_ = *log;
  return place;
}

JournalPlace::Found JournalPlace::Look() const {
  const std::string log_path = path_ + "-wal";
  const absl::StatusOr<FileIdentity> journal = IdentityOf(path_);
  const absl::StatusOr<FileIdentity> log = IdentityOf(log_path);
  if (journal.ok() && *journal != journal_) return {State::kIsAnother, path_};
  if (log.ok() && *log != log_) return {State::kIsAnother, log_path};
  for (const auto* look : {&journal, &log}) {
    if (absl::IsUnavailable(look->status())) return {State::kUnknown, std::string(look->status().message())};
  }
  if (!journal.ok()) return {State::kIsGone, ""};
  return {log.ok() ? State::kInPlace : State::kLogIsGone, ""};
}

}  // namespace muster::scheduler
