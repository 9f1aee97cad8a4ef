#include "worker_agent/keeper/files/file_helper.h"

#include <sys/epoll.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker_agent/keeper/boottime.h"

namespace muster::agent {

FileHelper::FileHelper(UniqueFd socket, CallbackPoller& poller, Say say)
    : channel_(std::move(socket)), poller_(poller), say_(std::move(say)) {
  UpdateWatch();
}

void FileHelper::Remove(const std::string& path, Answer answer) {
  Ask(RemoveRequest{path}, {0, 0, false, path, std::move(answer)});
}

void FileHelper::WriteFile(const std::string& path, const std::string& content) {
  Ask(WriteRequest{path, content}, {0, content.size(), false, path, {}});
}

void FileHelper::BeginRun(const RunFolder& folder) { Ask(BeginRunRequest{folder}, {0, 0, false, folder.path(), {}}); }

void FileHelper::ReadErrorFile(const std::string& path, Answer answer) {
  Ask(ReadErrorFileRequest{path}, {0, 0, false, path, std::move(answer)});
}

void FileHelper::ReadDeviceLog(const std::string& folder, int64_t pid, Answer answer) {
  Ask(ReadDeviceLogRequest{folder, pid}, {0, 0, false, folder, std::move(answer)});
}

uint32_t FileHelper::OpenLog(const std::string& path, Answer answer) {
  const uint32_t log = ++last_log_;
  logs_[log].path = path;
  Ask(OpenLogRequest{log, path}, {log, 0, false, path, std::move(answer)});
  return log;
}

void FileHelper::Append(uint32_t log, std::string_view bytes) {
  Log& entry = logs_.at(log);
  const size_t room = IsHung(BootTime()) ? kMaxHungBytes : kMaxBytes;
  // Once bytes were dropped, later ones are dropped too until there is room for many. So the log gets one note for a
  // gap, not one for each line.
  if (is_dead_ || entry.dropped != 0 || unwritten_bytes_ + bytes.size() > room) {
    entry.dropped += bytes.size();
    return;
  }
  Write(log, entry, bytes);
}

void FileHelper::Write(uint32_t number, Log& log, std::string_view bytes) {
  log.unwritten += bytes.size();
  unwritten_bytes_ += bytes.size();
  Ask(AppendRequest{number, std::string(bytes)}, {number, bytes.size(), false, log.path, {}});
}

void FileHelper::CloseLog(uint32_t log, Answer answer) {
  Log& entry = logs_.at(log);
  if (entry.dropped != 0 && !is_dead_) NoteDrops(log, entry);
  Ask(CloseLogRequest{log}, {log, 0, true, entry.path, std::move(answer)});
}

void FileHelper::Ask(const FileRequest& content, Request request) {
  if (is_dead_) {
    if (request.answer) request.answer("");
    return;
  }
  if (unanswered_.empty()) asked_at_ = BootTime();
  if (request.log == 0) unwritten_bytes_ += request.bytes;
  unanswered_.push_back(std::move(request));
  channel_.Send(Encode(content));
  UpdateWatch();
}

void FileHelper::Pump() {
  if (is_dead_) return;
  channel_.Flush();
  std::vector<std::string> answers;
  const bool is_open = channel_.Receive(answers);
  for (const std::string& text : answers) Take(text);
  if (!is_open) return Die();
  if (unwritten_bytes_ < kFullBytes && !IsHung(BootTime())) {
    for (auto& [number, log] : logs_) {
      if (log.dropped != 0) NoteDrops(number, log);
    }
  }
  UpdateWatch();
}

void FileHelper::Take(const std::string& text) {
  if (unanswered_.empty()) return;
  const Request request = std::move(unanswered_.front());
  unanswered_.pop_front();
  const MonotonicTime now = BootTime();
  const absl::Duration waited = now - std::exchange(asked_at_, now);
  if (std::exchange(has_reported_hang_, false)) {
    say_(absl::StrCat("the file system of ", request.path, " answers again, after ", absl::ToInt64Seconds(waited),
                      " s"));
  }
  unwritten_bytes_ -= request.bytes;
  if (auto found = logs_.find(request.log); found != logs_.end()) {
    found->second.unwritten -= request.bytes;
    if (request.closes) logs_.erase(found);
  }
  if (request.answer) {
    request.answer(text);
  } else if (!text.empty()) {
    say_(text);
  }
}

void FileHelper::NoteDrops(uint32_t number, Log& log) {
  const uint64_t dropped = std::exchange(log.dropped, 0);
  say_(absl::StrCat(dropped, " bytes of output are missing in ", log.path,
                    ": its file system did not answer when they arrived (--log_dir can name another folder)"));
  Write(number, log, absl::StrCat("\n[ms-worker: ", dropped, " bytes of output were lost here]\n"));
}

void FileHelper::Die() {
  is_dead_ = true;
  poller_.Forget(channel_.fd());
  if (!logs_.empty()) say_("the process that writes the logs has ended; output is no longer written to them");
  for (auto& [number, log] : logs_) log.dropped += std::exchange(log.unwritten, 0);
  unwritten_bytes_ = 0;
  for (Request& request : std::exchange(unanswered_, {})) {
    if (request.answer) request.answer("");
  }
}

void FileHelper::UpdateWatch() {
  const uint32_t wanted = channel_.pending_bytes() > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN;
  if (is_dead_ || wanted == watched_events_) return;
  watched_events_ = wanted;
  poller_.Watch(channel_.fd(), wanted, [this] { Pump(); });
}

void FileHelper::RunDeadlines(MonotonicTime now) {
  if (has_reported_hang_ || !IsHung(now)) return;
  has_reported_hang_ = true;
  say_(absl::StrCat("the file system of ", unanswered_.front().path, " has not answered for ",
                    absl::ToInt64Seconds(kStallPatience),
                    " s; the processes go on, their output waits in memory, and all beyond ",
                    kMaxHungBytes / 1024 / 1024, " MiB is dropped"));
}

MonotonicTime FileHelper::NextDeadline() const {
  return has_reported_hang_ || unanswered_.empty() ? MonotonicTime::Never() : asked_at_ + kStallPatience;
}

void FileHelper::SayWhatIsMissing(MonotonicTime now) {
  const std::string why =
      is_dead_ ? "the process that writes it had ended"
               : absl::StrCat("its file system has not answered for ", absl::ToInt64Seconds(now - asked_at_), " s");
  std::map<std::string, uint64_t> missing;
  for (const Request& request : unanswered_) {
    if (request.log == 0 && request.bytes != 0) say_(absl::StrCat(request.path, " was not written: ", why));
  }
  for (const auto& [number, log] : logs_) missing[log.path] += log.unwritten + log.dropped;
  for (const auto& [path, bytes] : missing) {
    if (bytes != 0) say_(absl::StrCat(bytes, " bytes of output were not written to ", path, ": ", why));
  }
}

}  // namespace muster::agent
