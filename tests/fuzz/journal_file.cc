// The journal's database file, with its write-ahead log and the owner's note: Open succeeds, or refuses with a message
// that names the file. The input is two texts after their lengths of 16 bits (note, log) and the rest (the database).
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "common/base/check.h"
#include "scheduler/journal/sqlite_journal.h"
#include "tests/fuzz/input.h"

namespace muster::scheduler {
namespace {

// Lies in memory where possible: opening a journal syncs.
class Folder {
 public:
  Folder() : path_(access("/dev/shm", W_OK) == 0 ? "/dev/shm/muster-fuzz-XXXXXX" : "/tmp/muster-fuzz-XXXXXX") {
    MUSTER_CHECK(mkdtemp(path_.data()) != nullptr, "a temporary folder");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string journal() const { return path_ + "/journal.db"; }

 private:
  std::string path_;
};

void Put(const std::string& path, const std::string& bytes, bool is_there) {
  std::filesystem::remove(path);
  if (is_there) std::ofstream(path, std::ios::binary) << bytes;
}

void Play(FuzzInput input) {
  static const Folder folder;
  const std::string path = folder.journal();
  const std::string note = input.Text();
  const std::string log = input.Text();
  for (const char* suffix : {"-journal", "-shm"}) std::filesystem::remove(path + suffix);
  Put(path + ".owner", note, !note.empty());
  Put(path + "-wal", log, !log.empty());
  Put(path, input.Rest(), true);
  const auto journal = SqliteJournal::Open(path);
  if (!journal.ok()) {
    MUSTER_CHECK(absl::StrContains(journal.status().message(), path), "a refusal names the file");
    return;
  }
  uint64_t count = 0;
  const absl::Status replayed = (*journal)->Replay([&](const v1::Record& record) {
    MUSTER_CHECK(record.kind_case() != v1::Record::KIND_NOT_SET, "Open has looked at every record");
    ++count;
  });
  MUSTER_CHECK(replayed.ok(), "what Open lets through can be read");
}

}  // namespace
}  // namespace muster::scheduler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::scheduler::Play(muster::FuzzInput(data, size));
  return 0;
}
