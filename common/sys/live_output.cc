#include "common/sys/live_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

constexpr size_t kChunkBytes = 16 * 1024;  // small chunks are joined up to this
constexpr size_t kPipeAtomicBytes = 4096;  // when a pipe polls writable, it takes this much without blocking
constexpr absl::Duration kLookAgain = absl::Milliseconds(1);  // between looks at another process's line

// Returns a number that differs for all objects in all processes that share a line.
uint64_t NewHolder() {
  static std::atomic<uint32_t> count{0};
  return static_cast<uint64_t>(::getpid()) << 32 | ++count;
}

}  // namespace

LiveOutput::LiveOutput(int fd, SharedLine* line, DropNote drop_note)
    : fd_(fd), drop_note_(std::move(drop_note)), line_(line), self_(NewHolder()) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    is_broken_ = true;
  } else if (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && ::isatty(fd) == 0)) {
    kind_ = Kind::kNeverBlocks;
  } else if (S_ISSOCK(info.st_mode)) {
    kind_ = Kind::kSocket;
  } else {
    // Open the file again, with flags of its own: O_NONBLOCK on the inherited descriptor would also affect the shell
    // and all programs on it.
    own_fd_.reset(::open(absl::StrCat("/proc/self/fd/", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own_fd_.is_open()) kind_ = Kind::kOwnDescription;
  }
}

void LiveOutput::Abandon() {
  is_broken_ = true;
  own_fd_.reset();
}

void LiveOutput::Write(std::string_view chunk, MonotonicTime now) {
  if (is_broken_ || chunk.empty()) return;
  const size_t line_end = held_.empty() ? std::string_view::npos : chunk.find('\n');
  if (line_end != std::string_view::npos) {  // ends the line that our lines wait for
    Append(chunk.substr(0, line_end + 1));
    Append(std::exchange(held_, {}));
    chunk.remove_prefix(line_end + 1);
  }
  Append(chunk);
  Flush(now);
  while (pending_bytes_ > kMaxBytes && chunks_.size() > 1) DropOldest();
}

void LiveOutput::WriteLines(std::string_view lines, MonotonicTime now) {
  if (will_end_in_newline_) return Write(lines, now);
  if (is_broken_) return;
  if (held_.empty()) held_since_ = now;
  held_ += lines;
  Flush(now);
}

void LiveOutput::Append(std::string_view chunk) {
  if (chunk.empty()) return;
  will_end_in_newline_ = chunk.back() == '\n';
  Chunk* last = chunks_.empty() ? nullptr : &chunks_.back();
  if (last != nullptr && last->reported_drops == 0 && last->bytes.size() + chunk.size() <= kChunkBytes) {
    last->bytes += chunk;
  } else {
    chunks_.push_back({std::string(chunk)});
  }
  pending_bytes_ += chunk.size();
}

void LiveOutput::Flush(MonotonicTime now) {
  if (!held_.empty() && (now >= held_since_ + kLinePatience || held_.size() > kMaxHeldBytes)) {
    Append(absl::StrCat("\n", std::exchange(held_, {})));
  }
  retry_line_at_ = MonotonicTime::Never();
  FlushChunks(now);
  LeaveLine();  // even if nothing could be written
}

// True if we may write now: no other process is in the middle of a line, or it has not continued its line for too long.
bool LiveOutput::TakeLine(MonotonicTime now) {
  if (line_ == nullptr) return true;
  const absl::Duration waited = foreign_since_.is_never() ? absl::ZeroDuration() : now - foreign_since_;
  const SharedLine::Taken taken = line_->Take(self_, waited);
  if (taken == SharedLine::Taken::kNo) {
    foreign_since_ = std::min(foreign_since_, now);
    retry_line_at_ = now + kLookAgain;
    return false;
  }
  foreign_since_ = MonotonicTime::Never();
  if (taken == SharedLine::Taken::kInTheMiddle) {
    chunks_.front().bytes.insert(front_written_, 1, '\n');
    ++pending_bytes_;
  }
  return true;
}

void LiveOutput::LeaveLine() {
  if (line_ != nullptr) line_->Release(self_, ends_in_newline_ || is_broken_);
}

MonotonicTime LiveOutput::LineDeadline() const {
  return held_.empty() ? retry_line_at_ : std::min(held_since_ + kLinePatience, retry_line_at_);
}

void LiveOutput::AwaitLine(const std::function<MonotonicTime()>& now) {
  while (!LineDeadline().is_never()) {
    Pause(kLookAgain);
    Flush(now());
  }
}

void LiveOutput::FlushChunks(MonotonicTime now) {
  while (!chunks_.empty() && !is_broken_) {
    if (!TakeLine(now)) return;
    if (dropped_bytes_ != 0 && front_written_ == 0) {
      // Add the note only if it fits completely. A pipe may take half of it and then be stuck for another hour. The
      // bytes dropped in that time would need a second note.
      if (!IsWritable()) {
        blocked_since_ = std::min(blocked_since_, now);
        return;
      }
      InsertDropNote();
    }
    Chunk& front = chunks_.front();
    std::string_view left = std::string_view(front.bytes).substr(front_written_);
    if (const size_t end = left.find('\n'); end != left.npos && line_ != nullptr && line_->IsWanted()) {
      left = left.substr(0, end + 1);  // the waiting process writes next
    }
    const ssize_t n = WriteSome(left.data(), left.size());
    if (n > 0) {
      blocked_since_ = MonotonicTime::Never();
      front_written_ += static_cast<size_t>(n);
      pending_bytes_ -= static_cast<size_t>(n);
      ends_in_newline_ = front.bytes[front_written_ - 1] == '\n';
      if (front_written_ == front.bytes.size()) {
        chunks_.pop_front();
        front_written_ = 0;
      }
      LeaveLine();
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      blocked_since_ = std::min(blocked_since_, now);
      return;
    } else if (n < 0 && (errno == ENOSPC || (kind_ == Kind::kNeverBlocks && errno != EINTR))) {
      // The disk or quota behind "> file" is full. The next chunk is tried again, because there may be room by then.
      lost_error_ = errno;
      pending_bytes_ -= front.bytes.size() - front_written_;
      chunks_.pop_front();
      front_written_ = 0;
    } else if (n == 0 || errno != EINTR) {
      is_broken_ = true;
    }
  }
  if (is_broken_) {
    chunks_.clear();
    held_.clear();
    pending_bytes_ = front_written_ = 0;
    dropped_bytes_ = 0;
  }
  blocked_since_ = MonotonicTime::Never();
}

ssize_t LiveOutput::WriteSome(const char* bytes, size_t size) {
  switch (kind_) {
    case Kind::kNeverBlocks:
      return ::write(fd_, bytes, size);
    case Kind::kOwnDescription:
      return ::write(own_fd_.get(), bytes, size);
    case Kind::kSocket:
      return ::send(fd_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    case Kind::kShared:
      break;
  }
  // The file could not be opened again (for example another user's pipe or terminal, after a change of user). Checking
  // first is the best protection against blocking.
  if (!IsWritable()) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd_, bytes, std::min(size, kPipeAtomicBytes));
}

bool LiveOutput::IsWritable() const { return LookAt(watch_fd(), POLLOUT) != 0; }

void LiveOutput::DropOldest() {
  const auto oldest = chunks_.begin() + (front_written_ > 0 ? 1 : 0);
  dropped_bytes_ += oldest->reported_drops != 0 ? oldest->reported_drops : oldest->bytes.size();
  pending_bytes_ -= oldest->bytes.size();
  chunks_.erase(oldest);
}

std::string LiveOutput::NoteOfWorker(uint64_t bytes) {
  return absl::StrCat("[ms-worker: ", bytes, " bytes of output were dropped here: they were not read in time]\n");
}

void LiveOutput::InsertDropNote() {
  Chunk note;
  note.reported_drops = std::exchange(dropped_bytes_, 0);
  note.bytes = absl::StrCat(ends_in_newline_ ? "" : "\n", drop_note_(note.reported_drops));
  pending_bytes_ += note.bytes.size();
  chunks_.push_front(std::move(note));
}

bool LiveOutput::ShouldPause(MonotonicTime now) const { return pending_bytes_ >= kFullBytes && now < StallDeadline(); }

MonotonicTime LiveOutput::StallDeadline() const { return blocked_since_ + kStallPatience; }

}  // namespace muster
