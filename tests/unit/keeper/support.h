// Helpers for the keeper's tests. Every wait polls a descriptor and has a bound.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/unique_fd.h"
#include "worker_agent/keeper/client/keeper.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {

inline constexpr int64_t kBoundMs = 20'000;  // no healthy wait comes near it, even on a busy machine

// A folder of its own, removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadWholeFile(const std::string& path);
void WriteWholeFile(const std::string& path, const std::string& content);

// A named pipe on which a test's processes report, a line at a time: `echo ready > path`.
class Fifo {
 public:
  explicit Fifo(std::string path);
  const std::string& path() const { return path_; }
  // Returns the next line; "(nothing came)" after the bound.
  std::string ReadLine(int64_t bound_ms = kBoundMs);
  void WriteLine(const std::string& line) const;
  // Reads the next line, which must be a pid; returns a pidfd of that process.
  UniqueFd ReadPid();

 private:
  std::string path_;
  UniqueFd fd_;
  std::string rest_;
};

// True if the process of a pidfd ends within the bound.
bool EndsWithin(const UniqueFd& pidfd, int64_t bound_ms);

// Replaces this process's stdout and stderr, which the keeper uses, by a pipe or a file while this object lives.
class StreamsTo {
 public:
  StreamsTo(int stdout_fd, int stderr_fd);
  ~StreamsTo();

 private:
  UniqueFd saved_stdout_, saved_stderr_;
};

struct PipeEnds {
  UniqueFd read, write;
};
PipeEnds MakeTestPipe();
// Reads up to the end of the pipe; the other end must be closed soon.
std::string ReadToEnd(const UniqueFd& fd);

// A keeper and the events that it has reported.
class TestKeeper {
 public:
  explicit TestKeeper(KeeperOptions options = {});
  Keeper& operator*() { return *keeper_; }
  Keeper* operator->() { return keeper_.get(); }
  void Destroy() { keeper_.reset(); }

  // Starts `sh -c script` as slot `slot`, with the usual PATH and the changes of `change`.
  void StartShell(uint32_t slot, const std::string& script, const std::function<void(ProcessSpec&)>& change = {});
  void Start(const ProcessSpec& spec) { keeper_->Start(spec); }

  // Waits for the event. After the bound, fails the test and returns an invented answer.
  Started WaitStarted(uint32_t slot);
  Ended WaitEnded(uint32_t slot);
  Unkillable WaitUnkillable(uint32_t slot);
  bool WaitCleared();
  bool WaitFenceFell();
  bool WaitLost();
  bool WaitSilent();
  bool WaitAnswers();
  // Polls until `find` accepts the events so far. False after the bound.
  bool WaitUntil(const std::function<bool()>& find);

  const std::vector<KeeperEvent>& events() const { return events_; }

 private:
  template <typename Wanted>
  bool WaitFor();

  std::unique_ptr<Keeper> keeper_;
  std::vector<KeeperEvent> events_;
};

// A process that can't be killed, like one that hangs in the kernel: the test traces it, and holds it at its exit. The
// kernel allows a process to trace its descendants, unless it forbids all tracing.
class HeldAtExit {
 public:
  explicit HeldAtExit(pid_t pid);
  ~HeldAtExit();
  bool is_held() const { return pid_ != 0; }
  void Release();

 private:
  pid_t pid_ = 0;
};

// A keeper with one pipe as its stdout and stderr; the test holds only the reading end.
struct PipedKeeper {
  explicit PipedKeeper(const KeeperOptions& options = {}) : pipe(MakeTestPipe()) {
    StreamsTo streams(pipe.write.get(), pipe.write.get());
    keeper.emplace(options);
    pipe.write.reset();
  }
  std::string EndAndRead() {
    keeper->Destroy();
    return ReadToEnd(pipe.read);
  }
  PipeEnds pipe;
  std::optional<TestKeeper> keeper;
};

// All descendants of `root`; fails the test if it can't look.
std::vector<ProcessInfo> AllBelow(pid_t root);
// Those descendants with that name (ms-keeper, ms-shim, …).
std::vector<pid_t> NamedBelow(pid_t root, const std::string& name);

// The helpers of this process's keepers: "ms-keeper-files", "ms-keeper-relay". Stopped by SIGSTOP, they behave as with
// a file system that hangs.
std::vector<pid_t> HelpersNamed(const std::string& name);
void SignalAll(const std::vector<pid_t>& pids, int signal);

ProcessSpec Command(uint32_t slot, std::vector<std::string> argv);

}  // namespace muster::agent
