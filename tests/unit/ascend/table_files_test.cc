#include "worker_agent/ascend/table_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;

class TableFilesTest : public ::testing::Test {
 protected:
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  TemporaryFolder folder_;
  TableFiles files_{folder_.path()};
};

TEST_F(TableFilesTest, EachRoundHasAFileOfItsOwnAndTheLinkLeadsToTheNewest) {
  const auto first = files_.Write(1, "one");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, folder_.path() + "/rank_table-1.json");
  EXPECT_EQ(ReadAll(files_.LinkPath()), "one");
  ASSERT_TRUE(files_.Write(2, "two").ok());
  EXPECT_EQ(ReadAll(files_.LinkPath()), "two");
  EXPECT_EQ(std::filesystem::read_symlink(files_.LinkPath()), "rank_table-2.json") << "it may be moved with its folder";
  EXPECT_THAT(Names(), ElementsAre("rank_table-1.json", "rank_table-2.json", "rank_table.json"));
  ASSERT_TRUE(files_.Write(3, "three").ok());
  EXPECT_THAT(Names(), ElementsAre("rank_table-2.json", "rank_table-3.json", "rank_table.json"));
}

TEST_F(TableFilesTest, TheSameRoundAgainIsTheSameFile) {
  ASSERT_TRUE(files_.Write(1, "one").ok());
  ASSERT_TRUE(files_.Write(2, "two").ok());
  ASSERT_TRUE(files_.Write(2, "two").ok());
  EXPECT_THAT(Names(), ElementsAre("rank_table-1.json", "rank_table-2.json", "rank_table.json"));
  EXPECT_EQ(ReadAll(files_.LinkPath()), "two");
}

TEST_F(TableFilesTest, ANewRunCountsFromOneAgain) {
  ASSERT_TRUE(files_.Write(1, "old one").ok());
  ASSERT_TRUE(files_.Write(2, "old two").ok());
  ASSERT_TRUE(files_.Write(1, "new one").ok());
  EXPECT_EQ(ReadAll(files_.LinkPath()), "new one");
  EXPECT_THAT(Names(), ElementsAre("rank_table-1.json", "rank_table-2.json", "rank_table.json"));
  ASSERT_TRUE(files_.Write(2, "new two").ok());
  EXPECT_EQ(ReadAll(files_.LinkPath()), "new two");
}

TEST_F(TableFilesTest, WhatIsLeftOfAnEarlierAgentIsReplaced) {
  folder_.Write("rank_table-1.json", "another's");
  folder_.Write("rank_table.json", "a file in the link's place");
  ASSERT_EQ(symlink("/nowhere", (files_.LinkPath() + ".new").c_str()), 0);
  ASSERT_TRUE(files_.Write(1, "one").ok());
  EXPECT_EQ(ReadAll(files_.LinkPath()), "one");
  EXPECT_THAT(Names(), ElementsAre("rank_table-1.json", "rank_table.json"));
}

TEST_F(TableFilesTest, AFileThatCannotBeWrittenIsNamed) {
  std::filesystem::create_directories(files_.LinkPath() + "/full");
  const auto written = files_.Write(1, "one");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(std::string(written.status().message()), ::testing::HasSubstr(files_.LinkPath()));
  EXPECT_FALSE(TableFiles("/nowhere/at/all").Write(1, "one").ok());
}

TEST_F(TableFilesTest, AReaderNeverFindsHalfAFileOrNone) {
  const std::string text = std::string(100'000, 'x') + "\n";
  ASSERT_TRUE(files_.Write(1, text).ok());
  std::atomic<bool> is_over = false;
  std::atomic<int> reads = 0;
  std::atomic<int> bad = 0;
  std::thread reader([&] {
    while (!is_over) {
      if (ReadAll(files_.LinkPath()) != text) ++bad;
      ++reads;
    }
  });
  // Each file is written while another is read. No reader is two rounds late: the link keeps the files of two rounds
  // only.
  for (uint32_t round = 2; round < 200; ++round) {
    const int before = reads;
    EXPECT_TRUE(files_.Write(round, text).ok());
    while (reads == before) std::this_thread::yield();
  }
  is_over = true;
  reader.join();
  EXPECT_EQ(bad, 0) << "of " << reads;
}

}  // namespace
}  // namespace muster::agent
