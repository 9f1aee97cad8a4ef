#include "worker_agent/runtime/stack_gatherer.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/try_thread.h"
#include "worker_agent/keeper/descendants.h"
#include "worker_agent/runtime/faulthandler.h"
#include "worker_agent/runtime/kernel_state.h"
#include "worker_agent/runtime/py_spy.h"

namespace muster::agent {
namespace {

constexpr size_t kMostAtOnce = 8;
constexpr char kGone[] = "the process ended meanwhile";
constexpr char kRemedy[] =
    "for Python stacks install py-spy where ms-worker finds it (PATH), or let the script call "
    "muster_training.enable_stacks()";

bool IsAlive(const std::optional<ProcessInfo>& process) { return process && !process->is_dead; }

v1::SlotStack WithNote(const StackTarget& target, const std::string& note) {
  v1::SlotStack stack;
  stack.set_slot(target.slot);
  stack.set_pid(static_cast<uint64_t>(target.pid));
  stack.set_note(note);
  return stack;
}

// The training process may have been started by a shell or a launcher: itself first, then every Python below it.
std::vector<ProcessInfo> Candidates(const ProcessInfo& process) {
  std::vector<ProcessInfo> found = {process};
  for (const ProcessInfo& below : DescendantsOf(process.pid, {})) {
    if (!below.is_dead && IsPython(below.pid)) found.push_back(below);
  }
  return found;
}

}  // namespace

StackGatherer::StackGatherer(StackGathererOptions options, const Clock& clock,
                             std::function<void(StacksGathered)> deliver)
    : options_(std::move(options)),
      clock_(clock),
      deliver_(std::move(deliver)),
      cancel_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(cancel_.is_open(), "an eventfd can be had at the start");
}

StackGatherer::~StackGatherer() {
  {
    MutexLock lock(mutex_);
    is_ending_ = true;
    requests_.clear();
    eventfd_write(cancel_.get(), 1);
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void StackGatherer::Gather(uint64_t query, std::vector<StackTarget> targets) {
  if (!thread_.joinable()) {
    absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
    if (!thread.ok()) {
      StacksGathered none{query, {}};
      for (const StackTarget& target : targets) {
        none.stacks.push_back(WithNote(target, std::string(thread.status().message())));
      }
      return deliver_(std::move(none));
    }
    thread_ = *std::move(thread);
  }
  MutexLock lock(mutex_);
  requests_.push_back({query, std::move(targets)});
  changed_.NotifyAll();
}

void StackGatherer::Abandon() {
  MutexLock lock(mutex_);
  eventfd_write(cancel_.get(), 1);
  while (is_busy_ || !requests_.empty()) changed_.Wait(mutex_);
  eventfd_t count = 0;
  eventfd_read(cancel_.get(), &count);
}

void StackGatherer::Run() {
  while (true) {
    Request request;
    {
      MutexLock lock(mutex_);
      while (requests_.empty() && !is_ending_) changed_.Wait(mutex_);
      if (is_ending_) return;
      request = std::move(requests_.front());
      requests_.pop_front();
      is_busy_ = true;
    }
    deliver_(Answer(request));
    MutexLock lock(mutex_);
    is_busy_ = false;
    changed_.NotifyAll();
  }
}

StacksGathered StackGatherer::Answer(const Request& request) const {
  const MonotonicTime deadline = clock_.Read().monotonic + options_.total_timeout;
  StacksGathered gathered{request.query, std::vector<v1::SlotStack>(request.targets.size())};
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < request.targets.size(); i = next++) {
      const StackTarget& target = request.targets[i];
      const auto same = std::find_if(request.targets.begin(), request.targets.begin() + static_cast<ptrdiff_t>(i),
                                     [&](const StackTarget& other) { return other.pid == target.pid; });
      if (target.pid == 0) {
        gathered.stacks[i] = WithNote(target, "no process runs");
      } else if (same->slot != target.slot) {  // one process for several slots (--per_node)
        gathered.stacks[i] = WithNote(target, absl::StrCat("the same process as that of slot ", same->slot));
      } else {
        gathered.stacks[i] = Look(target, deadline);
      }
    }
  };
  std::vector<std::thread> helpers;
  while (helpers.size() + 1 < std::min(kMostAtOnce, request.targets.size())) {
    absl::StatusOr<std::thread> helper = TryThread(work);
    if (!helper.ok()) break;  // it takes longer then
    helpers.push_back(*std::move(helper));
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  KeepToLimits(gathered.stacks);
  return gathered;
}

v1::SlotStack StackGatherer::Look(const StackTarget& target, MonotonicTime deadline) const {
  v1::SlotStack stack = WithNote(target, "");
  const std::optional<ProcessInfo> process = ReadProcess(target.pid);
  if (!IsAlive(process) || process->parent != options_.parent) return WithNote(target, kGone);
  const std::vector<ProcessInfo> candidates = Candidates(*process);
  const auto until = [&](absl::Duration most) { return std::min(deadline, clock_.Read().monotonic + most); };

  std::string why_not;
  const auto python = std::find_if(candidates.begin(), candidates.end(),
                                   [](const ProcessInfo& candidate) { return IsPython(candidate.pid); });
  const std::string py_spy = FindPySpy(options_.search_path);
  if (!py_spy.empty()) {
    const pid_t pid = python == candidates.end() ? target.pid : python->pid;
    const auto text = RunPySpy(py_spy, pid, until(options_.py_spy_timeout), cancel_.get(), clock_);
    if (text.ok()) {
      stack.set_method("py-spy");
      stack.set_text(*text);
      return stack;
    }
    why_not = absl::StrCat("py-spy: ", std::string(text.status().message()), "; ");
  }
  const auto agreed = std::find_if(candidates.begin(), candidates.end(), [&](const ProcessInfo& candidate) {
    return HasAgreed(candidate, target.stacks_file);
  });
  if (agreed != candidates.end()) {
    const auto text =
        AskFaulthandler(*agreed, target.stacks_file, until(options_.signal_timeout), cancel_.get(), clock_);
    if (text.ok()) {
      stack.set_method("faulthandler");
      stack.set_text(*text);
      stack.set_note(why_not);
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

}  // namespace muster::agent
