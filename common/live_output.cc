#include "common/live_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr size_t kChunkBytes = 16 * 1024;  // small chunks are joined up to this
constexpr size_t kPipeAtomicBytes = 4096;  // a pipe that polls writable takes this much without blocking

}  // namespace

LiveOutput::LiveOutput(int fd, DropNote drop_note) : fd_(fd), drop_note_(std::move(drop_note)) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    is_broken_ = true;
  } else if (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && ::isatty(fd) == 0)) {
    kind_ = Kind::kNeverBlocks;
  } else if (S_ISSOCK(info.st_mode)) {
    kind_ = Kind::kSocket;
  } else {
    // A description of our own, since O_NONBLOCK on the shared one would break the shell and every program on it.
    own_fd_.reset(::open(absl::StrCat("/proc/self/fd/", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own_fd_.is_open()) kind_ = Kind::kOwnDescription;
  }
}

void LiveOutput::Write(std::string_view chunk, int64_t now_ms) {
  if (is_broken_ || chunk.empty()) return;
  Chunk* last = chunks_.empty() ? nullptr : &chunks_.back();
  if (last != nullptr && last->drops_told == 0 && last->bytes.size() + chunk.size() <= kChunkBytes) {
    last->bytes += chunk;
  } else {
    chunks_.push_back({std::string(chunk)});
  }
  pending_bytes_ += chunk.size();
  Flush(now_ms);
  while (pending_bytes_ > kMaxBytes && chunks_.size() > 1) DropOldest();
}

void LiveOutput::Flush(int64_t now_ms) {
  while (!chunks_.empty() && !is_broken_) {
    if (dropped_bytes_ != 0 && front_written_ == 0) {
      // Only when the whole note will fit: a pipe may take the first half of it and then be stuck for another hour of
      // drops, which would need a second note.
      if (!IsWritable()) {
        if (blocked_since_ms_ < 0) blocked_since_ms_ = now_ms;
        return;
      }
      InsertDropNote();
    }
    Chunk& front = chunks_.front();
    const ssize_t n = WriteSome(front.bytes.data() + front_written_, front.bytes.size() - front_written_);
    if (n > 0) {
      blocked_since_ms_ = -1;
      front_written_ += static_cast<size_t>(n);
      pending_bytes_ -= static_cast<size_t>(n);
      ends_in_newline_ = front.bytes[front_written_ - 1] == '\n';
      if (front_written_ == front.bytes.size()) {
        chunks_.pop_front();
        front_written_ = 0;
      }
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (blocked_since_ms_ < 0) blocked_since_ms_ = now_ms;
      return;
    } else if (n < 0 && (errno == ENOSPC || (kind_ == Kind::kNeverBlocks && errno != EINTR))) {
      // A full disk or quota behind "> file": there is nobody to tell but that file. Try anew with the next chunk.
      pending_bytes_ -= front.bytes.size() - front_written_;
      chunks_.pop_front();
      front_written_ = 0;
    } else if (n == 0 || errno != EINTR) {
      is_broken_ = true;
    }
  }
  if (is_broken_) {
    chunks_.clear();
    pending_bytes_ = front_written_ = 0;
    dropped_bytes_ = 0;
  }
  blocked_since_ms_ = -1;
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
  // Somebody else's pipe or terminal (after a change of user): as close to not blocking as it gets.
  if (!IsWritable()) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd_, bytes, std::min(size, kPipeAtomicBytes));
}

bool LiveOutput::IsWritable() const {
  pollfd ready{watch_fd(), POLLOUT, 0};
  return ::poll(&ready, 1, 0) > 0;
}

void LiveOutput::DropOldest() {
  const auto oldest = chunks_.begin() + (front_written_ > 0 ? 1 : 0);
  dropped_bytes_ += oldest->drops_told != 0 ? oldest->drops_told : oldest->bytes.size();
  pending_bytes_ -= oldest->bytes.size();
  chunks_.erase(oldest);
}

std::string LiveOutput::NoteOfWorker(uint64_t bytes) {
  return absl::StrCat("[ms-worker: ", bytes, " bytes of output were dropped here: they were not read in time]\n");
}

void LiveOutput::InsertDropNote() {
  Chunk note;
  note.drops_told = std::exchange(dropped_bytes_, 0);
  note.bytes = absl::StrCat(ends_in_newline_ ? "" : "\n", drop_note_(note.drops_told));
  pending_bytes_ += note.bytes.size();
  chunks_.push_front(std::move(note));
}

bool LiveOutput::ShouldPause(int64_t now_ms) const { return pending_bytes_ >= kFullBytes && now_ms < StallDeadline(); }

int64_t LiveOutput::StallDeadline() const {
  return blocked_since_ms_ < 0 ? std::numeric_limits<int64_t>::max() : blocked_since_ms_ + kStallMs;
}

}  // namespace muster
