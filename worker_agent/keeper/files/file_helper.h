// The keeper's end of a helper: a process that accesses files in the keeper's place. If a file system hangs, it blocks
// only the helper.
//
// The helper answers the requests in their order. Bytes that it has not written yet are kept here, up to a limit. From
// kFullBytes on, ShouldPause asks the keeper to read no more output of the training processes, so that a slow disk
// loses nothing.
//
// A file system that hasn't answered for kStallPatience counts as hung, and nothing waits for it any more. Then at most
// kMaxHungBytes are kept for it. Later bytes are dropped and counted; their number is reported when the file system
// answers, or at the end. No method blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"
#include "worker_agent/keeper/callback_poller.h"
#include "worker_agent/keeper/channel.h"
#include "worker_agent/keeper/wire.h"

namespace muster::agent {

class FileHelper {
 public:
  static constexpr size_t kFullBytes = 1024 * 1024;
  static constexpr size_t kMaxHungBytes = 8 * 1024 * 1024;
  // The most that is kept for a file system that answers: room for the content of all pipes when processes end.
  static constexpr size_t kMaxBytes = 32 * 1024 * 1024;
  static constexpr absl::Duration kLatePatience = absl::Seconds(1);
  static constexpr absl::Duration kStallPatience = absl::Seconds(5);

  using Answer = std::function<void(const std::string& text)>;
  using Say = std::function<void(const std::string& line)>;

  // `socket` leads to the helper (helper_process.h). `poller` outlives this. `say` shows a line to the user.
  FileHelper(UniqueFd socket, CallbackPoller& poller, Say say);

  // Each `answer` is called exactly once; if the helper has died, already inside the call. Everything that a callback
  // uses must outlive this.
  void Remove(const std::string& path, Answer answer);
  void WriteFile(const std::string& path, const std::string& content);  // failures are logged
  void BeginRun(const RunFolder& folder);                               // failures are logged
  void ReadErrorFile(const std::string& path, Answer answer);
  void ReadDeviceLog(const std::string& folder, int64_t pid, Answer answer);
  uint32_t OpenLog(const std::string& path, Answer answer);
  void Append(uint32_t log, std::string_view bytes);
  // `answer` is called when all bytes of the log are written. Must be called once for each log.
  void CloseLog(uint32_t log, Answer answer);

  // Returns true if an answer is so late that nothing should wait for it.
  bool IsLate(MonotonicTime now) const { return !unanswered_.empty() && now - asked_at_ >= kLatePatience; }
  bool IsHung(MonotonicTime now) const { return !unanswered_.empty() && now - asked_at_ >= kStallPatience; }
  bool ShouldPause(MonotonicTime now) const { return unwritten_bytes_ >= kFullBytes && !IsHung(now); }
  bool has_unanswered() const { return !unanswered_.empty(); }
  bool has_unsent() const { return channel_.pending_bytes() > 0; }

  // Logs once that the file system hangs, when it begins to count as hung.
  void RunDeadlines(MonotonicTime now);
  MonotonicTime NextDeadline() const;

  // Sends requests and takes answers, as many as possible without waiting. The poller calls it, too.
  void Pump();
  int fd() const { return channel_.fd(); }

  // To be called when the keeper ends: logs a line for each log that lacks bytes, and for each file that is not
  // written.
  void SayWhatIsMissing(MonotonicTime now);

 private:
  struct Log {
    std::string path;
    size_t unwritten = 0;  // bytes that the helper was given and has not confirmed
    uint64_t dropped = 0;  // bytes since the last note in the file
  };
  struct Request {
    uint32_t log = 0;  // 0: none
    size_t bytes = 0;
    bool closes = false;
    std::string path;
    Answer answer;
  };

  void Ask(const FileRequest& content, Request request);
  void Take(const std::string& text);
  void Write(uint32_t number, Log& log, std::string_view bytes);
  void NoteDrops(uint32_t number, Log& log);
  void Die();
  void UpdateWatch();

  Channel channel_;
  CallbackPoller& poller_;
  const Say say_;
  std::deque<Request> unanswered_;
  std::map<uint32_t, Log> logs_;  // until they are closed
  uint32_t last_log_ = 0;
  size_t unwritten_bytes_ = 0;
  MonotonicTime asked_at_;  // since when the helper works on the oldest unanswered request
  bool has_reported_hang_ = false;
  bool is_dead_ = false;
  uint32_t watched_events_ = 0;
};

}  // namespace muster::agent
