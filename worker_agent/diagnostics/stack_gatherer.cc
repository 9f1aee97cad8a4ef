#include "worker_agent/diagnostics/stack_gatherer.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"
#include "common/net/waker.h"
#include "common/sys/threads.h"
#include "common/sys/wait.h"
#include "worker_agent/diagnostics/kernel_state.h"
#include "worker_agent/diagnostics/python_stacks.h"
#include "worker_agent/keeper/process/descendants.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxAtOnce = 8;
// The time that work may take to end after it was cut short. Work that takes longer counts as hanging.
constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr char kGone[] = "the process ended meanwhile";
constexpr char kHangs[] = "an earlier query has not finished: a file system that ms-worker uses (TMPDIR) hangs";
constexpr char kRemedy[] =
    "for Python stacks install py-spy where ms-worker finds it (PATH), or let the script call "
    "muster_training.enable_stacks()";

struct Request {
  uint64_t query = 0;
  std::vector<StackTarget> targets;
};

// Collects the stacks. It uses nothing of the gatherer, since a thread that was left behind may outlive the gatherer.
struct Looker {
  const StackGathererOptions options;
  const Clock& clock;
  const Waker cancel;  // awake: all work must end as soon as possible

  StacksGathered Answer(const Request& request) const;
  // `is_py_spy_slow` is shared by all processes of a request: once py-spy has timed out for one, it is not tried again.
  v1::SlotStack Look(const StackTarget& target, MonotonicTime deadline, std::atomic<bool>& is_py_spy_slow) const;
  bool IsCancelled() const;
};

bool IsAlive(const std::optional<ProcessInfo>& process) { return process && !process->is_dead; }

v1::SlotStack WithNote(const StackTarget& target, const std::string& note) {
  v1::SlotStack stack;
  stack.set_slot(target.slot);
  stack.set_pid(static_cast<uint64_t>(target.pid));
  stack.set_note(note);
  return stack;
}

// True if the process is a child or grandchild of `parent`.
bool IsNearBelow(const ProcessInfo& process, pid_t parent) {
  if (process.parent == parent) return true;
  const std::optional<ProcessInfo> between = ReadProcess(process.parent);
  return between.has_value() && between->parent == parent;
}

// Returns the process itself, then every Python process that descends from it: the process may be a shell or a launcher
// that has started the training process.
std::vector<ProcessInfo> Candidates(const ProcessInfo& process) {
  std::vector<ProcessInfo> found = {process};
  for (const ProcessInfo& below : DescendantsOf(process.pid, {}).value_or(std::vector<ProcessInfo>())) {
    if (!below.is_dead && IsPython(below.pid)) found.push_back(below);
  }
  return found;
}

StacksGathered Looker::Answer(const Request& request) const {
  const MonotonicTime deadline = clock.Read().monotonic + options.total_timeout;
  StacksGathered gathered{request.query, std::vector<v1::SlotStack>(request.targets.size())};
  std::atomic<size_t> next = 0;
  std::atomic<bool> is_py_spy_slow = false;
  const auto work = [&] {
    bool is_first = true;
    for (size_t i = next++; i < request.targets.size(); i = next++) {
      const StackTarget& target = request.targets[i];
      const auto same = std::find_if(request.targets.begin(), request.targets.begin() + static_cast<ptrdiff_t>(i),
                                     [&](const StackTarget& other) { return other.pid == target.pid; });
      if (target.pid == 0) {
        gathered.stacks[i] = WithNote(target, "no process runs");
      } else if (same->slot != target.slot) {  // one process for several slots (--per_node)
        gathered.stacks[i] = WithNote(target, absl::StrCat("the same process as that of slot ", same->slot));
      } else if (!std::exchange(is_first, false) && IsCancelled()) {  // (Look itself notices a cancel early)
        gathered.stacks[i] = WithNote(target, "ms-worker ends");
      } else {
        gathered.stacks[i] = Look(target, deadline, is_py_spy_slow);
      }
    }
  };
  std::vector<std::thread> helpers;
  while (helpers.size() + 1 < std::min(kMaxAtOnce, request.targets.size())) {
    absl::StatusOr<std::thread> helper = TryThread(work);
    if (!helper.ok()) break;  // fewer threads do the work
    helpers.push_back(*std::move(helper));
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  KeepToLimits(gathered.stacks);
  return gathered;
}

bool Looker::IsCancelled() const { return LookAt(cancel.fd(), POLLIN) != 0; }

v1::SlotStack Looker::Look(const StackTarget& target, MonotonicTime deadline, std::atomic<bool>& is_py_spy_slow) const {
  v1::SlotStack stack = WithNote(target, "");
  const std::optional<ProcessInfo> process = ReadProcess(target.pid);
  if (!IsAlive(process) || !IsNearBelow(*process, options.parent)) return WithNote(target, kGone);
  const std::vector<ProcessInfo> candidates = Candidates(*process);
  const auto until = [&](absl::Duration most) { return std::min(deadline, clock.Read().monotonic + most); };

  const bool is_stopped =
      std::any_of(candidates.begin(), candidates.end(), [](const ProcessInfo& one) { return one.is_stopped; });
  stack.set_is_stopped(is_stopped);
  std::string why_not = is_stopped ? "it is stopped, by a signal or a debugger; " : "";
  const auto python = std::find_if(candidates.begin(), candidates.end(),
                                   [](const ProcessInfo& candidate) { return IsPython(candidate.pid); });
  const pid_t pid = python == candidates.end() ? target.pid : python->pid;
  const auto dump = is_py_spy_slow
                        ? absl::DeadlineExceededError("it took too long for another process")
                        : RunPySpy(options.search_path, pid, until(options.py_spy_timeout), cancel.fd(), clock);
  if (dump.ok()) {
    stack.set_method("py-spy");
    stack.set_text(*dump);
    stack.set_note(std::string(absl::StripSuffix(why_not, "; ")));
    return stack;
  }
  if (absl::IsDeadlineExceeded(dump.status())) is_py_spy_slow = true;
  if (!absl::IsNotFound(dump.status())) {
    why_not = absl::StrCat("py-spy: ", std::string(dump.status().message()), "; ");
  }
  const auto agreed = std::find_if(candidates.begin(), candidates.end(), [&](const ProcessInfo& candidate) {
    return HasAgreed(candidate, target.stacks_file);
  });
  // A process that the kernel does not let run can't answer.
  const bool can_answer = agreed != candidates.end() && !agreed->is_stopped && agreed->state != 'D';
  if (can_answer) {
    const auto text = AskFaulthandler(*agreed, target.stacks_file, until(options.signal_timeout), cancel.fd(), clock);
    if (text.ok()) {
      stack.set_method("faulthandler");
      stack.set_text(*text);
      stack.set_note(std::string(absl::StripSuffix(why_not, "; ")));
      return stack;
    }
    absl::StrAppend(&why_not, "faulthandler: ", std::string(text.status().message()), "; ");
  }
  const std::optional<std::string> text = KernelText(target.pid);
  if (!text || !IsAlive(ReadProcess(target.pid))) return WithNote(target, kGone);
  stack.set_method("kernel");
  stack.set_text(*text);
  stack.set_note(absl::StrCat(why_not, kRemedy));
  return stack;
}

StacksGathered NoneOf(const Request& request, const std::string& why) {
  StacksGathered none{request.query, {}};
  for (const StackTarget& target : request.targets) none.stacks.push_back(WithNote(target, why));
  return none;
}

constexpr size_t kSmallest = 256;  // no text is cut to less than this
constexpr size_t kMarkBytes = 64;

std::string CutMiddle(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  const size_t half = (limit - kMarkBytes) / 2;
  return absl::StrCat(text.substr(0, half), "\n[… ", text.size() - 2 * half, " bytes left out …]\n",
                      text.substr(text.size() - half));
}

}  // namespace

struct StackGatherer::Shared {
  Shared(StackGathererOptions options, const Clock& clock, std::function<void(StacksGathered)> to)
      : looker{std::move(options), clock, {}}, deliver(std::move(to)) {}

  // Runs in the gatherer's thread.
  void Run() ABSL_LOCKS_EXCLUDED(mutex);
  bool WasLeftBehind() ABSL_LOCKS_EXCLUDED(mutex);
  // Waits for the next request. Returns false if the thread should end instead.
  bool Await(Request& request) ABSL_LOCKS_EXCLUDED(mutex);

  const Looker looker;
  const std::function<void(StacksGathered)> deliver;

  Mutex mutex;
  CondVar changed;
  std::deque<Request> requests ABSL_GUARDED_BY(mutex);
  bool is_busy ABSL_GUARDED_BY(mutex) = false;
  bool is_ending ABSL_GUARDED_BY(mutex) = false;
  bool is_left_behind ABSL_GUARDED_BY(mutex) = false;  // its thread is detached, and must deliver nothing
};

bool StackGatherer::Shared::WasLeftBehind() {
  MutexLock lock(mutex);
  return is_left_behind;
}

bool StackGatherer::Shared::Await(Request& request) {
  MutexLock lock(mutex);
  while (requests.empty() && !is_ending && !is_left_behind) changed.Wait(mutex);
  if (is_ending || is_left_behind) return false;
  request = std::move(requests.front());
  requests.pop_front();
  is_busy = true;
  return true;
}

void StackGatherer::Shared::Run() {
  Request request;
  while (Await(request)) {
    StacksGathered gathered = looker.Answer(request);
    MutexLock lock(mutex);
    if (is_left_behind) return;
    deliver(std::move(gathered));
    is_busy = false;
    changed.NotifyAll();
  }
}

StackGatherer::StackGatherer(StackGathererOptions options, const Clock& clock,
                             std::function<void(StacksGathered)> deliver)
    : shared_(std::make_shared<Shared>(std::move(options), clock, std::move(deliver))) {
  MUSTER_CHECK(shared_->looker.cancel.is_open(), "an eventfd is available at the start");
}

StackGatherer::~StackGatherer() {
  {
    MutexLock lock(shared_->mutex);
    shared_->is_ending = true;
    shared_->requests.clear();
    shared_->changed.NotifyAll();
  }
  Abandon();
  if (thread_.joinable()) thread_.join();
}

void StackGatherer::Gather(uint64_t query, std::vector<StackTarget> targets) {
  Request request{query, std::move(targets)};
  if (shared_->WasLeftBehind()) return shared_->deliver(NoneOf(request, kHangs));
  if (!thread_.joinable()) {
    absl::StatusOr<std::thread> thread = TryThread([shared = shared_] { shared->Run(); });
    if (!thread.ok()) return shared_->deliver(NoneOf(request, std::string(thread.status().message())));
    thread_ = *std::move(thread);
  }
  MutexLock lock(shared_->mutex);
  shared_->requests.push_back(std::move(request));
  shared_->changed.NotifyAll();
}

void StackGatherer::Abandon() {
  const Looker& looker = shared_->looker;
  const MonotonicTime give_up = looker.clock.Read().monotonic + kPatience;
  MutexLock lock(shared_->mutex);
  if (shared_->is_left_behind) return;
  looker.cancel.Wake();
  while (shared_->is_busy || !shared_->requests.empty()) {
    const MonotonicTime now = looker.clock.Read().monotonic;
    if (now < give_up) {
      shared_->changed.WaitFor(shared_->mutex, give_up - now);
      continue;
    }
    shared_->is_left_behind = true;  // `cancel` stays awake, so that the thread ends once it can
    if (thread_.joinable()) thread_.detach();
    return;
  }
  looker.cancel.Clear();
}

void KeepToLimits(std::vector<v1::SlotStack>& stacks) {
  static_assert(kMaxStackRanks * kSmallest <= kMaxStacksBytes);
  static_assert(kMaxStacksBytes + kMaxStackRanks * (kMaxStackNoteBytes + 64) <= kMaxSessionMessageBytes);
  size_t limit = kMaxStackBytes;
  const auto total = [&] {
    size_t sum = 0;
    for (const v1::SlotStack& stack : stacks) sum += std::min(stack.text().size(), limit);
    return sum;
  };
  while (total() > kMaxStacksBytes) limit = std::max(kSmallest, limit * 7 / 8);
  for (v1::SlotStack& stack : stacks) {
    stack.set_text(CleanText(CutMiddle(stack.text(), limit), limit, true));
    stack.set_note(CleanText(stack.note(), kMaxStackNoteBytes));
  }
}

}  // namespace muster::agent
