#include "worker_agent/keeper/files/output.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/os_error.h"
#include "worker_agent/keeper/boottime.h"
#include "worker_agent/keeper/files/same_file.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {

namespace {

// More than the limit for a shown line, because escape sequences are removed later.
constexpr size_t kMaxRawLineBytes = 4 * kMaxLastLineBytes;

// Returns where the last kMaxLastLines complete lines of `bytes` begin; npos when there are fewer.
size_t BeginOfLastLines(std::string_view bytes) {
  size_t position = bytes.size();
  for (size_t i = 0; i <= kMaxLastLines; ++i) {
    if (position == 0) return std::string_view::npos;
    position = bytes.rfind('\n', position - 1);
    if (position == std::string_view::npos) return position;
  }
  return position + 1;
}

}  // namespace

LastLines::LastLines()
    : splitters_{LineSplitter(kMaxRawLineBytes, LineSplitter::Overlong::kTruncate),
                 LineSplitter(kMaxRawLineBytes, LineSplitter::Overlong::kTruncate)} {}

void LastLines::Feed(size_t stream, std::string_view bytes) {
  LineSplitter& splitter = splitters_.at(stream);
  // Looks only at lines that can be among the last ones, so that a process that writes a lot costs little.
  if (size_t begin = BeginOfLastLines(bytes); begin != std::string_view::npos) {
    splitter.Reset();
    bytes.remove_prefix(begin);
  }
  splitter.Feed(bytes, [this](std::string&& line) { Keep(std::move(line)); });
}

void LastLines::Keep(std::string&& line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > kMaxLastLines) lines_.pop_front();
}

std::vector<std::string> LastLines::Take() {
  for (LineSplitter& splitter : splitters_) {
    splitter.Finish([this](std::string&& line) { Keep(std::move(line)); });
  }
  std::vector<std::string> clean;
  for (const std::string& line : lines_) clean.push_back(CleanText(line, kMaxLastLineBytes));
  return clean;
}

namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kReadBytesPerTurn = 4 * kReadBytes;  // then other descriptors get their turn
constexpr size_t kMaxDrainBytes = 4 * 1024 * 1024;    // more than a pipe holds; a grandchild may write for ever
constexpr size_t kMaxPrefixedLineBytes = 16 * 1024;
constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);  // between two states of a process's progress bar
// The wait for the rest of a state that is written in parts.
constexpr absl::Duration kProgressSettles = absl::Milliseconds(50);

absl::Status MakePipe(UniqueFd& read_end, UniqueFd& write_end) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    return At(LaunchStep::kStreams, OsError(absl::StatusCode::kResourceExhausted, "pipe", errno));
  }
  read_end.reset(fds[0]);
  write_end.reset(fds[1]);
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

}  // namespace

// A stream has a SharedLine only if it is stderr, because the agent's own lines always go there.
LiveOutputs::LiveOutputs(int stdout_fd, int stderr_fd)
    : standard_(stdout_fd, IsSameFile(stdout_fd, stderr_fd) ? SharedLine::OfStderr() : nullptr) {
  if (!IsSameFile(stdout_fd, stderr_fd)) error_.emplace(stderr_fd, SharedLine::OfStderr());
}

void LiveOutputs::Flush(MonotonicTime now) {
  standard_.Flush(now);
  if (error_.has_value()) error_->Flush(now);
}

MonotonicTime LiveOutputs::NextDeadline(MonotonicTime now) const {
  auto deadline = [&](const LiveOutput& output) {
    return std::min(output.LineDeadline(), output.ShouldPause(now) ? output.StallDeadline() : MonotonicTime::Never());
  };
  return std::min(deadline(standard_), error_.has_value() ? deadline(*error_) : MonotonicTime::Never());
}

void LiveOutputs::UpdateWatches(CallbackPoller& poller) {
  auto update = [&](LiveOutput& output) {
    if (const MonotonicTime now = BootTime(); now >= output.LineDeadline()) output.Flush(now);
    if (output.awaits_room()) {
      poller.Watch(output.watch_fd(), EPOLLOUT, [&output] { output.Flush(BootTime()); });
    } else {
      poller.Forget(output.watch_fd());
    }
  };
  update(standard_);
  if (error_.has_value()) update(*error_);
}

absl::StatusOr<std::unique_ptr<ProcessOutput>> ProcessOutput::Create(const ProcessSpec& spec, LiveOutputs& live,
                                                                     CallbackPoller& poller, Log log,
                                                                     std::unique_ptr<RuleMatcher> matcher,
                                                                     ChildEnds& child_ends) {
  std::unique_ptr<ProcessOutput> output(new ProcessOutput(spec, live, poller, log, std::move(matcher)));
  if (absl::Status made = MakePipe(output->streams_[0].pipe, child_ends.out); !made.ok()) return made;
  if (spec.passes_output) {
    output->streams_[0].destination = &live.standard();
    if (!live.are_one()) {
      output->streams_[1].destination = &live.error();
      if (absl::Status made = MakePipe(output->streams_[1].pipe, child_ends.err); !made.ok()) return made;
    }
  } else if (!spec.prefix.empty()) {
    output->streams_[0].destination = &live.standard();
  }
  for (size_t i = 0; i < output->streams_.size(); ++i) output->Watch(i);
  return output;
}

ProcessOutput::ProcessOutput(const ProcessSpec& spec, LiveOutputs& live, CallbackPoller& poller, Log log,
                             std::unique_ptr<RuleMatcher> matcher)
    : live_(live),
      poller_(poller),
      prefix_(spec.passes_output ? "" : spec.prefix),
      log_(log),
      prefix_splitter_(kMaxPrefixedLineBytes, LineSplitter::Overlong::kSplit),
      matcher_(std::move(matcher)) {}

ProcessOutput::~ProcessOutput() {
  for (size_t i = 0; i < streams_.size(); ++i) Close(i);
}

bool ProcessOutput::ShouldPause(const Stream& stream, MonotonicTime now) const {
  // Output that is in a log file may be dropped from the screen; other output waits for the reader.
  if (log_.number != 0) return log_.helper.ShouldPause(now);
  return stream.destination != nullptr && stream.destination->ShouldPause(now);
}

void ProcessOutput::Watch(size_t stream) {
  if (!streams_[stream].pipe.is_open()) return;
  poller_.Watch(streams_[stream].pipe.get(), EPOLLIN, [this, stream] {
    const Stream& s = streams_[stream];
    if (ShouldPause(s, BootTime())) {
      poller_.Forget(s.pipe.get());  // without Forget, epoll would report a closed writer again and again
      streams_[stream].is_paused = true;
      return;
    }
    Read(stream, kReadBytesPerTurn);
  });
}

void ProcessOutput::Resume(MonotonicTime now) {
  if (now >= progress_at_) ShowProgress(now);
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (!streams_[i].is_paused || ShouldPause(streams_[i], now)) continue;
    streams_[i].is_paused = false;
    Watch(i);
  }
}

void ProcessOutput::Close(size_t stream) {
  if (!streams_[stream].pipe.is_open()) return;
  poller_.Forget(streams_[stream].pipe.get());
  streams_[stream].pipe.reset();
  streams_[stream].is_paused = false;
}

void ProcessOutput::Read(size_t stream, size_t max_bytes) {
  static char buffer[kReadBytes];
  for (size_t total = 0; total < max_bytes && streams_[stream].pipe.is_open();) {
    const ssize_t n = ::read(streams_[stream].pipe.get(), buffer, sizeof buffer);
    if (n > 0) {
      total += static_cast<size_t>(n);
      Take(stream, std::string_view(buffer, static_cast<size_t>(n)));
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      if (n == 0) Close(stream);
      return;
    }
  }
}

void ProcessOutput::Take(size_t stream, std::string_view bytes) {
  last_lines_.Feed(stream, bytes);
  tail_.Feed(bytes);
  if (matcher_ != nullptr) matcher_->Feed(stream, bytes);
  if (log_.number != 0) log_.helper.Append(log_.number, bytes);
  if (!prefix_.empty()) {
    ShowWithPrefix(bytes);
  } else if (streams_[stream].destination != nullptr) {
    streams_[stream].destination->Write(bytes, BootTime());
  }
}

void ProcessOutput::ShowWithPrefix(std::string_view bytes) {
  std::string shown;
  prefix_splitter_.Feed(bytes, [&](std::string&& line) {
    const bool is_shown = !line.empty() && line == shown_progress_;
    shown_progress_.clear();
    if (!is_shown) shown += prefix_ + line + '\n';
  });
  const MonotonicTime now = BootTime();
  live_.standard().Write(shown, now);
  const std::string_view progress = prefix_splitter_.Progress();
  const bool is_new = progress.find_first_not_of(" \t") != std::string_view::npos && progress != shown_progress_;
  if (!is_new) {
    progress_at_ = MonotonicTime::Never();
  } else if (progress_at_.is_never()) {
    progress_at_ = std::max(now + kProgressSettles, next_progress_);
  }
}

// Shows the state as a line of its own: the bars of several processes can't share one line that is rewritten.
void ProcessOutput::ShowProgress(MonotonicTime now) {
  progress_at_ = MonotonicTime::Never();
  next_progress_ = now + kProgressInterval;
  shown_progress_ = prefix_splitter_.Progress();
  live_.standard().Write(prefix_ + shown_progress_ + '\n', now);
}

void ProcessOutput::Drain() {
  for (size_t i = 0; i < streams_.size(); ++i) Read(i, kMaxDrainBytes);
}

std::vector<std::string> ProcessOutput::LastLinesSoFar() {
  Drain();
  return last_lines_.SoFar();
}

RaisedException ProcessOutput::FindException() const {
  const OutputPart part = tail_.Read(0, std::numeric_limits<uint32_t>::max());
  std::vector<absl::string_view> lines = absl::StrSplit(part.text, '\n');
  lines.back() = part.unfinished;
  RaisedException exception = muster::FindException(lines).value_or(RaisedException{});
  CutException(exception);
  return exception;
}

std::vector<std::string> ProcessOutput::Finish(std::function<void()> log_is_written) {
  Drain();
  for (size_t i = 0; i < streams_.size(); ++i) Close(i);
  if (!prefix_.empty()) {
    prefix_splitter_.Finish([this](std::string&& line) {
      if (line != shown_progress_) live_.standard().Write(prefix_ + line + '\n', BootTime());
    });
    progress_at_ = MonotonicTime::Never();
  }
  if (log_.number != 0) {
    log_.helper.CloseLog(log_.number, [done = std::move(log_is_written)](const std::string&) { done(); });
  }
  return last_lines_.Take();
}

}  // namespace muster::agent
