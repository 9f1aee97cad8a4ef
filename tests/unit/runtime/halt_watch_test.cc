// Processes that the kernel does not let run, with real ones.
#include "worker_agent/runtime/halt_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace muster::agent {
namespace {

const ProcessKey kKey{0, 1, 0};

// A child that sleeps until it is killed.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    while (true) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  void Stop() const {
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  void GoOn() const {
    kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, WCONTINUED);
  }

 private:
  pid_t pid_;
};

TEST(HaltWatch, AStoppedProcessIsReportedOnceAndWhenItGoesOn) {
  const Child child;
  HaltWatch watch;
  watch.Watch(kKey, child.pid());
  const MonotonicTime begin = MonotonicTime::FromNanoseconds(1);
  EXPECT_TRUE(watch.Poll(begin).empty());
  child.Stop();
  EXPECT_TRUE(watch.Poll(begin + absl::Seconds(1)).empty()) << "it may go on at once";
  const std::vector<ProcessHalted> halted = watch.Poll(begin + absl::Seconds(3));
  ASSERT_EQ(halted.size(), 1u);
  EXPECT_EQ(halted[0].key, kKey);
  EXPECT_EQ(halted[0].pid, static_cast<uint64_t>(child.pid()));
  EXPECT_EQ(halted[0].state, "T");
  EXPECT_EQ(halted[0].since, begin + absl::Seconds(1));
  EXPECT_TRUE(watch.Poll(begin + absl::Seconds(4)).empty()) << "once is enough";
  child.GoOn();
  const std::vector<ProcessHalted> over = watch.Poll(begin + absl::Seconds(5));
  ASSERT_EQ(over.size(), 1u);
  EXPECT_TRUE(over[0].is_over);
}

TEST(HaltWatch, AProcessThatIsGoneIsNotHalted) {
  HaltWatch watch;
  {
    const Child child;
    child.Stop();
    watch.Watch(kKey, child.pid());
    EXPECT_TRUE(watch.Poll(MonotonicTime::FromNanoseconds(1)).empty());
  }
  EXPECT_TRUE(watch.Poll(MonotonicTime::FromNanoseconds(1) + absl::Seconds(10)).empty());
  watch.Forget(kKey);
  EXPECT_TRUE(watch.IsIdle());
}

}  // namespace
}  // namespace muster::agent
