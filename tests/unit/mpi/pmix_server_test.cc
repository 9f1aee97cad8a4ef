#include "worker_agent/gateway/mpi/pmix/pmix_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"
#include "tests/unit/mpi/sample_layout.h"

namespace muster::agent {
namespace {

// Replaces ms-pmix by a shell script: it reports that it is ready, for one rank with A=1, and then runs `says`.
class PmixServerTest : public testing::Test {
 protected:
  PmixServerTest() {
    std::string folder = testing::TempDir() + "/pmix-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    std::filesystem::create_directory(Path("memory"));
  }
  ~PmixServerTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  absl::StatusOr<std::unique_ptr<PmixServer>> Start(const std::string& says, PmixServer::EndRank end) {
    std::ofstream(Path("ms-pmix")) << "#!/bin/sh\nexec 1>&0\nprintf '\\005\\000\\000\\000RA=1\\000\\000'\n"
                                   << says << "\nexec cat >/dev/null\n";
    ::chmod(Path("ms-pmix").c_str(), 0700);
    const PmixOptions options{Path("ms-pmix"), Path("session"), Path("memory")};
    return PmixServer::Start(options, SampleLayout(2, 1), store_, clock_, std::move(end));
  }
  // Makes a folder that is an hour old.
  std::string OldFolder(const std::string& name) {
    std::string path = Path("memory/" + name);
    std::filesystem::create_directory(path);
    std::ofstream(path + "/segment") << "x";
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    return path;
  }

  std::string folder_;
  ManualClock clock_;
  MemoryJobStore store_{clock_};
};

TEST_F(PmixServerTest, AFailedFenceEndsTheRanks) {
  std::promise<uint32_t> ended;
  // More than an agent may send: 1,100,000 bytes.
  const auto server =
      Start("printf '\\340\\310\\020\\000F'; head -c 1100000 /dev/zero", [&](uint32_t slot) { ended.set_value(slot); });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(ended.get_future().get(), 0u);
  EXPECT_THAT((*server)->ProgressOf(0).error, testing::HasSubstr("fence between the nodes failed"));
}

TEST_F(PmixServerTest, OneThatCantRunIsSaid) {
  const PmixOptions options{"/bin/false", Path("session"), Path("memory")};
  const auto failed = PmixServer::Start(options, SampleLayout(2, 1), store_, clock_, [](uint32_t) { FAIL(); });
  EXPECT_THAT(std::string(failed.status().message()), testing::HasSubstr("libpmix2"));
  EXPECT_FALSE(std::filesystem::exists(Path("session")));
}

TEST_F(PmixServerTest, DeadFoldersGo) {
  const std::string dead = OldFolder("muster-mpi-dead00");
  const std::string alive = OldFolder("muster-mpi-alive0");
  const std::string other = OldFolder("other");
  const std::string young = Path("memory/muster-mpi-young0");
  std::filesystem::create_directory(young);
  const UniqueFd lock(::open(alive.c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(Start("", [](uint32_t) {}).ok());
  EXPECT_FALSE(std::filesystem::exists(dead));
  for (const std::string& path : {alive, other, young}) EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

}  // namespace
}  // namespace muster::agent
