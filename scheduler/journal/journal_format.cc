// | format | the versions that write it                     | this version |
// |--------|------------------------------------------------|--------------|
// | 1, 2   | development versions before the first release  | refuses it   |
// | 3      | releases since 0.1.0                           | reads it     |
// | higher | newer versions                                 | refuses it   |
#include "scheduler/journal/journal_format.h"

#include "absl/strings/str_cat.h"

namespace muster::scheduler {

absl::Status CheckJournalFormat(const std::string& path, int format) {
  if (format > kJournalFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the journal ", path, " has format ", format, ", and this ms-scheduler knows format ", kJournalFormat,
        ": use the newer ms-scheduler that wrote it, or name another file with "
        "--journal_path"));
  }
  if (format < kJournalFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("the journal ", path, " has format ", format,
                     ", which a version before the first release wrote, "
                     "and this ms-scheduler knows format ",
                     kJournalFormat, ": move the file away, or name another file with --journal_path"));
  }
  return absl::OkStatus();
}

}  // namespace muster::scheduler
