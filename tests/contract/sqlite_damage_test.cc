// Damaged and truncated files: Open returns exactly what was acknowledged, or it refuses.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_process.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

constexpr const char* kSuffixes[] = {"", "-wal", ".owner"};

using Files = std::vector<std::optional<std::string>>;  // contents, in the order of kSuffixes; nullopt: no such file

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

class SqliteDamage : public ::testing::Test {
 protected:
  // Makes a journal with `count` records and a snapshot in the middle, as a kill -9 leaves it.
  void Make(int count, bool has_log) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      names.push_back(absl::StrCat("record ", i, std::string(static_cast<size_t>(i) % 100, 'x')));
      if (i == count / 4) names.push_back("snapshot first quarter");
    }
    ASSERT_TRUE(WriteAndDie(path_, names));
    if (!has_log) static_cast<void>(SqliteJournal::Open(path_).ok());  // and closed in order
    auto journal = Open(path_);
    ASSERT_TRUE(journal.ok()) << journal.status();
    whole_ = *journal;
    ASSERT_EQ(whole_.size(), static_cast<size_t>(count - count / 4));
    files_ = original_;
  }

  // Writes the files and opens them; returns what Replay yields.
  absl::StatusOr<std::vector<std::string>> Open(const std::string& path) {
    if (original_.empty()) {
      for (const char* suffix : kSuffixes) original_.push_back(ReadFile(path + suffix));
    }
    auto journal = SqliteJournal::Open(path);
    if (!journal.ok()) return journal.status();
    return ReplayedNames(**journal);
  }
  absl::StatusOr<std::vector<std::string>> OpenCopy(const Files& files) {
    const std::string copy = folder_ / "copy.db";
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string path = copy + kSuffixes[i];
      std::filesystem::remove(path);
      if (files[i]) std::ofstream(path, std::ios::binary) << *files[i];
    }
    std::filesystem::remove(copy + "-journal");
    return Open(copy);
  }

  // Expects everything, or a refusal. Without the owner's note, a prefix of the history may pass, but no other history.
  void Expect(const Files& files, const std::string& what) {
    const auto found = OpenCopy(files);
    if (!found.ok()) {
      ++refused_;
      EXPECT_TRUE(absl::StrContains(found.status().message(), folder_ / "copy.db")) << what << ": " << found.status();
      return;
    }
    if (files[2]) {
      EXPECT_EQ(*found, whole_) << what;
      return;
    }
    ASSERT_LE(found->size(), whole_.size()) << what;
    if (!found->empty() && found->front() == "snapshot first quarter") {
      EXPECT_TRUE(std::equal(found->begin(), found->end(), whole_.begin())) << what;
    }
  }

  void Truncate(size_t file, size_t step) {
    for (size_t length = 0; length < files_[file]->size(); length += step) {
      Files files = files_;
      files[file]->resize(length);
      Expect(files, absl::StrCat("journal.db", kSuffixes[file], " cut to ", length, " bytes"));
      if (HasFailure()) return;
    }
  }
  void Flip(size_t file, size_t bit) {
    Files files = files_;
    char& byte = (*files[file])[bit / 8];
    byte = static_cast<char>(byte ^ (1 << (bit % 8)));
    Expect(files, absl::StrCat("journal.db", kSuffixes[file], " with bit ", bit % 8, " of byte ", bit / 8, " flipped"));
  }

  TempFolder folder_;
  const std::string path_ = folder_ / "journal.db";
  Files original_, files_;
  std::vector<std::string> whole_;
  int refused_ = 0;
};

TEST_F(SqliteDamage, ATruncatedDatabase) {
  Make(4, false);
  Truncate(0, 1);
  EXPECT_GT(refused_, 1'000);
}

TEST_F(SqliteDamage, ATruncatedLog) {
  Make(4, true);
  ASSERT_GT(files_[1]->size(), 4'096u);
  Truncate(1, 1);
  EXPECT_GT(refused_, 1'000);
}

TEST_F(SqliteDamage, ATruncatedNote) {
  Make(4, true);
  Truncate(2, 1);
}

TEST_F(SqliteDamage, ABitOfEveryByteOfASmallOne) {
  Make(3, true);
  std::mt19937 random(1);
  for (size_t file = 0; file < 3; ++file) {
    for (size_t byte = 0; files_[file] && byte < files_[file]->size() && !HasFailure(); ++byte)
      Flip(file, 8 * byte + random() % 8);
  }
}

TEST_F(SqliteDamage, TwoThousandBitsOfALargerOne) {
  for (const bool has_log : {false, true}) {
    original_.clear();
    for (const char* suffix : kSuffixes) std::filesystem::remove(path_ + suffix);
    Make(500, has_log);
    const size_t file = has_log ? 1 : 0;
    ASSERT_GT(files_[file]->size(), 40'000u);
    std::mt19937 random(2);
    for (int i = 0; i < 1'000 && !HasFailure(); ++i) Flip(file, random() % (8 * files_[file]->size()));
  }
  EXPECT_GT(refused_, 500);
}

TEST_F(SqliteDamage, WithoutTheNoteAShorterPastMayPassButNoOtherOne) {
  Make(40, true);
  files_[2].reset();
  std::mt19937 random(3);
  for (int i = 0; i < 300 && !HasFailure(); ++i) Flip(1, random() % (8 * files_[1]->size()));
  Truncate(1, 997);
}

}  // namespace
}  // namespace muster::scheduler
