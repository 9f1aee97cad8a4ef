#include "tests/sim/actors/workers.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/clock.h"

namespace muster::sim {
namespace {

constexpr absl::Duration kHangs = absl::Seconds(120);  // processor time for one seed: the machine may be busy

absl::Duration ProcessorTime(pid_t pid) {
  clockid_t clock;
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return absl::ZeroDuration();
  return absl::DurationFromTimespec(used);
}

// A worker's report on one seed, in one write (shorter than PIPE_BUF).
struct Message {
  uint64_t seed = 0;
  uint64_t steps = 0;
  bool is_done = false;
  bool is_violated = false;
  char text[3000] = {};
};

class Workers {
 public:
  Workers(const WorkersOptions& options, const std::function<SeedResult(uint64_t)>& run,
          const std::function<void(uint64_t, const std::string&)>& on_violation)
      : options_(options), run_(run), on_violation_(on_violation), next_(options.first_seed) {}

  Totals Run() {
    std::signal(SIGPIPE, SIG_IGN);
    begin_ = Clock::System().Read().monotonic;
    workers_.resize(static_cast<size_t>(std::max(1, options_.workers)));
    for (Worker& worker : workers_) Spawn(worker);
    while (std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.pid != 0; })) PollOnce();
    totals_.took = Elapsed();
    return totals_;
  }

 private:
  struct Worker {
    pid_t pid = 0;
    int orders = -1;   // the descriptor that sends it seeds
    int answers = -1;  // the descriptor that receives its Messages
    uint64_t seed = 0;
    absl::Duration used_before;  // its processor time when it got the seed
  };

  absl::Duration Elapsed() const { return Clock::System().Read().monotonic - begin_; }

  bool WantsMore() const {
    if (totals_.violations > 0 && !options_.keeps_going) return false;
    const absl::Duration elapsed = Elapsed();
    if (elapsed >= options_.most) return false;
    return next_ - options_.first_seed < options_.seeds || elapsed < options_.time;
  }

  void Spawn(Worker& worker) {
    int orders[2];
    int answers[2];
    MUSTER_CHECK(pipe(orders) == 0 && pipe(answers) == 0, "no pipe");
    std::fflush(nullptr);
    worker.pid = fork();
    MUSTER_CHECK(worker.pid >= 0, "no fork");
    if (worker.pid == 0) {
      close(orders[1]);
      close(answers[0]);
      for (const Worker& other : workers_) {
        if (&other != &worker && other.pid != 0) close(other.orders), close(other.answers);
      }
      Serve(orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    worker.orders = orders[1];
    worker.answers = answers[0];
    Order(worker);
  }

  [[noreturn]] void Serve(int orders, int answers) {
    uint64_t seed = 0;
    while (read(orders, &seed, sizeof(seed)) == sizeof(seed)) {
      const SeedResult result = run_(seed);
      Message message{seed, result.steps, true, !result.violation.empty(), {}};
      std::strncpy(message.text, result.violation.c_str(), sizeof(message.text) - 1);
      if (write(answers, &message, sizeof(message)) != sizeof(message)) break;
    }
    std::fflush(nullptr);
    _exit(0);
  }

  void Order(Worker& worker) {
    if (!WantsMore()) return Dismiss(worker);
    worker.seed = next_++;
    worker.used_before = ProcessorTime(worker.pid);
    if (write(worker.orders, &worker.seed, sizeof(worker.seed)) != sizeof(worker.seed)) OnDeath(worker);
  }

  void Dismiss(Worker& worker) {
    close(worker.orders);
    close(worker.answers);
    waitpid(worker.pid, nullptr, 0);
    worker.pid = 0;
  }

  void PollOnce() {
    std::vector<pollfd> fds;
    for (const Worker& worker : workers_) {
      if (worker.pid != 0) fds.push_back({worker.answers, POLLIN, 0});
    }
    poll(fds.data(), fds.size(), 1000);
    for (Worker& worker : workers_) {
      if (worker.pid == 0) continue;
      const auto fd = std::find_if(fds.begin(), fds.end(), [&](const pollfd& f) { return f.fd == worker.answers; });
      if (fd != fds.end() && fd->revents != 0) {
        Take(worker);
      } else if (ProcessorTime(worker.pid) - worker.used_before > kHangs) {
        kill(worker.pid, SIGKILL);
        OnDeath(worker);
      }
    }
  }

  void Take(Worker& worker) {
    Message message;
    if (read(worker.answers, &message, sizeof(message)) != sizeof(message)) return OnDeath(worker);
    ++totals_.runs;
    totals_.steps += message.steps;
    if (message.is_violated) Violation(message.seed, message.text);
    Order(worker);
  }

  void OnDeath(Worker& worker) {
    int status = 0;
    waitpid(worker.pid, &status, 0);
    close(worker.orders);
    close(worker.answers);
    worker.pid = 0;
    ++totals_.runs;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    Violation(worker.seed, signal == SIGABRT   ? "aborted: see the broken invariant above"
                           : signal == SIGKILL ? "hung or was killed"
                                               : absl::StrCat("died with status ", status));
    if (WantsMore()) Spawn(worker);
  }

  void Violation(uint64_t seed, const std::string& what) {
    ++totals_.violations;
    on_violation_(seed, what);
  }

  const WorkersOptions& options_;
  const std::function<SeedResult(uint64_t)>& run_;
  const std::function<void(uint64_t, const std::string&)>& on_violation_;
  uint64_t next_;
  MonotonicTime begin_;
  std::vector<Worker> workers_;
  Totals totals_;
};

}  // namespace

Totals RunSeeds(const WorkersOptions& options, const std::function<SeedResult(uint64_t)>& run,
                const std::function<void(uint64_t, const std::string&)>& on_violation) {
  return Workers(options, run, on_violation).Run();
}

}  // namespace muster::sim
