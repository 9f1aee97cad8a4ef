#include "common/sys/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TaskFacts Roomy() {
  TaskFacts facts;
  facts.user = {4096, 12};
  facts.threads = {100'000, 300};
  facts.pids = {32'768, 300};
  return facts;
}

TEST(TaskLimitText, NamesTheLimitThatIsReached) {
  struct {
    std::function<void(TaskFacts&)> change;
    const char* text;
  } const kCases[] = {
      {[](TaskFacts& f) {
         f.group = "/job", f.of_group = {20, 20};
       },
       "pids.max of the control group /job is 20, and 20"},
      {[](TaskFacts& f) {
         f.lacks_addresses = f.lacks_memory = true, f.address_space = {400 * kMiB, 390 * kMiB};
       },
       "RLIMIT_AS (ulimit -v) is 400 MiB, and 390 MiB are in use"},
      {[](TaskFacts& f) {
         f.lacks_addresses = f.lacks_memory = true, f.address_space = {400 * kMiB, std::nullopt};
       },
       "RLIMIT_AS (ulimit -v) is 400 MiB: raise it"},
      {[](TaskFacts& f) {
         f.lacks_memory = true, f.data = {64 * kMiB, 60 * kMiB};
       },
       "RLIMIT_DATA (ulimit -d) is 64 MiB"},
      {[](TaskFacts& f) { f.lacks_memory = true; }, "vm.overcommit_memory"},
      {[](TaskFacts& f) { f.lacks_addresses = f.lacks_memory = true; }, "vm.max_map_count"},
      {[](TaskFacts& f) {
         f.user = {100, 97};
       },
       "RLIMIT_NPROC (ulimit -u) is 100, and this user has 97"},
      {[](TaskFacts& f) {
         f.user = {0, std::nullopt}, f.threads.now = 99'999;
       },
       "kernel.threads-max is 100000, and this machine has 99999"},
      {[](TaskFacts& f) { f.threads.now = f.pids.now = 32'760; },
       "kernel.pid_max is 32768, and this machine has 32760"},
  };
  for (const auto& one : kCases) {
    TaskFacts facts = Roomy();
    one.change(facts);
    EXPECT_THAT(TaskLimitText(facts), AllOf(HasSubstr(one.text), Not(HasSubstr("none of"))));
  }
}

TEST(TaskLimitText, SaysWhatItCantKnow) {
  EXPECT_THAT(TaskLimitText(Roomy()), AllOf(HasSubstr("none of the limits that can be read here is reached"),
                                            HasSubstr("RLIMIT_NPROC (ulimit -u) is 4096, and this user has 12")));
  EXPECT_THAT(TaskLimitText({}),
              AllOf(HasSubstr("/proc can't be read"), HasSubstr("ulimit -v"), Not(HasSubstr(" is 0"))));
  TaskFacts without_proc;
  without_proc.user = {4096, std::nullopt};
  EXPECT_THAT(TaskLimitText(without_proc), HasSubstr("RLIMIT_NPROC (ulimit -u) is 4096;"));
}

// Runs in a process of its own, which has that limit.
bool SaysUnder(__rlimit_resource resource, rlim_t most, const char* text) {
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit limit{most, most};
    setrlimit(resource, &limit);
    _exit(TaskLimitInWords().find(text) != std::string::npos ? 0 : 1);
  }
  int status = 0;
  return waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(TaskLimitInWords, SeesTheAddressSpace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has the address space";
#endif
  const uint64_t used = TaskFactsOfThisProcess().address_space.now.value_or(0);
  ASSERT_NE(used, 0U);
  EXPECT_TRUE(SaysUnder(RLIMIT_AS, used + kMiB, "RLIMIT_AS"));
  EXPECT_FALSE(SaysUnder(RLIMIT_AS, used + 1024 * kMiB, "RLIMIT_AS"));
}

}  // namespace
}  // namespace muster
