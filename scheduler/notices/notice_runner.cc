// The ways in which a command can end, and what is logged then:
//
//   it exits with 0                              nothing
//   it exits with another code                   the code, and the first line of its stderr
//   a signal ends it                             the signal, and the first line of its stderr
//   it still runs after `time_limit`             that it was killed, and the first line of its stderr
//   it still runs when `drain_time` is over      that it was killed
//   another thread has reaped it                 that its exit status can't be read (nothing is killed: its pid may
//                                                belong to another process by now)
//   /bin/sh can't be started                     the reason
#include "scheduler/notices/notice_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/text.h"
#include "common/base/unique_fd.h"
#include "common/net/waker.h"
#include "common/sys/child/child.h"
#include "common/sys/threads.h"
#include "common/sys/wait.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(50);  // how often to check running commands
constexpr absl::Duration kIdle = absl::Seconds(5);        // how often to call Options::look
constexpr size_t kMaxErrorBytes = 512;
constexpr char kFailed[] = "--on_event";           // failed commands are counted under this name
constexpr char kDropped[] = "--on_event dropped";  // dropped notices are counted under this name

struct Running {
  std::string kind;
  pid_t pid = 0;
  UniqueFd errors;
  std::string said;
  MonotonicTime deadline;
};

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  UniqueFd out;
  UniqueFd in;
};

// Returns the command's environment. It has only these few variables of this process, because any other may be secret.
std::vector<std::string> CleanEnvironment() {
  std::vector<std::string> kept;
  for (const char* name : {"PATH", "HOME", "LANG", "LC_ALL", "TZ"}) {
    if (const char* value = std::getenv(name)) kept.push_back(absl::StrCat(name, "=", value));
  }
  return kept;
}

// A shell script that starts a guard in the background, and then replaces itself by the command. The guard reads from
// descriptor 3, a pipe. This program keeps the other end open. When this program has ended for any reason, the read
// ends, and the guard kills the process group.
constexpr char kWithGuard[] = R"sh(( (read -r none; kill -9 0) <&3 2>/dev/null &); exec /bin/sh -c "$1" 3<&-)sh";
// Reads the command's standard error. Keeps its beginning and drops the rest, so that the command never blocks on it.
void ReadErrors(Running& running) {
  char bytes[4096];
  for (int turn = 0; turn < 16; ++turn) {
    const ssize_t n = read(running.errors.get(), bytes, sizeof bytes);
    if (n <= 0) return;
    running.said.append(bytes, std::min(static_cast<size_t>(n), kMaxErrorBytes - running.said.size()));
  }
}

std::string FirstLine(const std::string& said) {
  const std::string line = said.substr(0, said.find('\n'));
  return line.empty() ? "" : absl::StrCat(": ", EscapeControl(line));
}

}  // namespace

class NoticeRunner::Impl {
 public:
  Impl(Options options, const Clock& clock, CountedLog& counted)
      : options_(std::move(options)), clock_(clock), counted_(counted) {}

  ~Impl() {
    {
      MutexLock lock(mutex_);
      is_ending_ = true;
    }
    waker_.Wake();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start() {
    if (!waker_.is_open() || !alive_.in.is_open()) {
      return absl::ResourceExhaustedError("--on_event: no descriptor is left (ulimit -n)");
    }
    fcntl(alive_.out.get(), F_SETFL, 0);  // the guard's read must block until the end
    absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
    if (!thread.ok()) return thread.status();
    thread_ = *std::move(thread);
    return absl::OkStatus();
  }

  void Add(Notice notice) {
    const std::string dropped = Take(std::move(notice));
    waker_.Wake();
    if (dropped.empty()) return;
    counted_.Note(
        Severity::kWarning, kDropped,
        absl::StrCat("--on_event: ", kMaxWaiting, " notices wait for the command already: '", dropped, "' is dropped"));
  }

 private:
  // Adds the notice to the waiting ones. Returns the kind of the notice that was dropped to make room; empty: none was.
  std::string Take(Notice notice) {
    MutexLock lock(mutex_);
    std::string dropped;
    if (waiting_.size() >= kMaxWaiting) {
      const auto way = GivesWay(notice) ? waiting_.end() : std::find_if(waiting_.begin(), waiting_.end(), GivesWay);
      if (way == waiting_.end()) return notice.kind;
      dropped = way->kind;
      waiting_.erase(way);
    }
    waiting_.push_back(std::move(notice));
    return dropped;
  }

  void Run() {
    MonotonicTime look_at = clock_.Read().monotonic + kIdle;
    while (!IsEnding()) {
      if (const MonotonicTime now = clock_.Read().monotonic; now >= look_at) {
        look_at = now + kIdle;
        Look(/*is_last=*/false);
      }
      Turn(kIdle);
    }
    Drain();
  }

  void Look(bool is_last) {
    if (options_.look == nullptr) return;
    for (Notice& notice : options_.look(is_last)) Add(std::move(notice));
  }

  void Turn(absl::Duration idle) {
    StartWaiting();
    Wait(idle);
    for (auto it = running_.begin(); it != running_.end();) it = HasEnded(*it) ? running_.erase(it) : std::next(it);
  }

  void Drain() {
    Look(/*is_last=*/true);
    const MonotonicTime end = clock_.Read().monotonic + options_.drain_time;
    while ((!running_.empty() || CountWaiting() > 0) && clock_.Read().monotonic < end) Turn(absl::ZeroDuration());
    for (Running& running : running_) {
      if (HasEnded(running)) continue;
      Reap(running);
      Complain(running.kind, absl::StrCat("it was killed: the scheduler ends, and it still ran after ",
                                          absl::FormatDuration(options_.drain_time)));
    }
    for (const Notice& notice : TakeWaiting()) {
      counted_.Note(Severity::kWarning, kDropped,
                    absl::StrCat("--on_event: the scheduler ends: '", notice.kind, "' is dropped"));
    }
  }

  bool IsEnding() {
    MutexLock lock(mutex_);
    return is_ending_;
  }

  std::deque<Notice> TakeWaiting() {
    MutexLock lock(mutex_);
    return std::exchange(waiting_, {});
  }

  size_t CountWaiting() {
    MutexLock lock(mutex_);
    return waiting_.size();
  }

  void StartWaiting() {
    while (running_.size() < kMaxAtOnce) {
      Notice notice;
      {
        MutexLock lock(mutex_);
        if (waiting_.empty()) return;
        notice = std::move(waiting_.front());
        waiting_.pop_front();
      }
      Begin(notice);
    }
  }

  void Begin(const Notice& notice) {
    Pipe input;
    Pipe errors;
    if (!input.in.is_open() || !errors.in.is_open()) return Complain(notice.kind, "no descriptor is left (ulimit -n)");
    // (The pipe has room for a whole notice, even if the command never reads it.)
    if (write(input.in.get(), notice.json.data(), notice.json.size()) != static_cast<ssize_t>(notice.json.size())) {
      return Complain(notice.kind, absl::StrCat("its input can't be written: ", std::strerror(errno)));
    }
    fcntl(input.out.get(), F_SETFL, 0);  // the command's ends of the pipes are blocking, as commands expect
    fcntl(errors.in.get(), F_SETFL, 0);
    Running running;
    running.kind = notice.kind;
    running.deadline = clock_.Read().monotonic + options_.time_limit;
    ChildOptions child;
    child.argv = {"/bin/sh", "-c", kWithGuard, "sh", options_.command};
    child.env = CleanEnvironment();
    child.in = input.out.get();
    child.err = errors.in.get();
    child.third = alive_.out.get();
    const int error = StartChild(child, running.pid);
    if (error != 0) return Complain(notice.kind, absl::StrCat("/bin/sh can't be started: ", std::strerror(error)));
    running.errors = std::move(errors.out);
    running_.push_back(std::move(running));
  }

  void Wait(absl::Duration idle) {
    WaitFor(waker_.fd(), POLLIN, running_.empty() ? idle : kLook);
    waker_.Clear();
  }

  bool HasEnded(Running& running) {
    ReadErrors(running);
    const ChildState state = AwaitChild(running.pid);
    if (state == ChildState::kUnknown) {
      Complain(running.kind, absl::StrCat("its exit status can't be read: ", std::strerror(ECHILD)));
      return true;
    }
    const bool is_over = state == ChildState::kEnded;
    if (!is_over && clock_.Read().monotonic < running.deadline) return false;
    const ExitStatus exit = Reap(running);
    ReadErrors(running);
    if (!is_over) {
      Complain(running.kind, absl::StrCat("it was killed after ", absl::FormatDuration(options_.time_limit),
                                          FirstLine(running.said)));
    } else if (exit.signal != 0) {
      Complain(running.kind, absl::StrCat("it ended by signal ", exit.signal, FirstLine(running.said)));
    } else if (exit.code != 0) {
      Complain(running.kind, absl::StrCat("it ended with exit code ", exit.code, FirstLine(running.said)));
    }
    return true;
  }

  static ExitStatus Reap(const Running& running) {
    kill(-running.pid, SIGKILL);
    return ReapChild(running.pid).value_or(ExitStatus{});
  }

  void Complain(const std::string& kind, const std::string& why) {
    counted_.Note(Severity::kWarning, kFailed, absl::StrCat("the command of --on_event failed for ", kind, ": ", why));
  }

  const Options options_;
  const Clock& clock_;
  CountedLog& counted_;
  const Waker waker_;
  const Pipe alive_;            // nothing is ever written to it
  std::list<Running> running_;  // used only by thread_
  Mutex mutex_;
  std::deque<Notice> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

NoticeRunner::NoticeRunner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NoticeRunner::~NoticeRunner() = default;

absl::StatusOr<std::unique_ptr<NoticeRunner>> NoticeRunner::Start(Options options, const Clock& clock,
                                                                  CountedLog& counted) {
  auto impl = std::make_unique<Impl>(std::move(options), clock, counted);
  if (absl::Status started = impl->Start(); !started.ok()) return started;
  return std::unique_ptr<NoticeRunner>(new NoticeRunner(std::move(impl)));
}

void NoticeRunner::Add(Notice notice) { impl_->Add(std::move(notice)); }

}  // namespace muster::scheduler
