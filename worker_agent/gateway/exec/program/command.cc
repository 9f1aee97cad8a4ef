// Runs a remote command on the node for which it is meant (ServeCommand).
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/program/holder.h"
#include "worker_agent/gateway/exec/program/io.h"

namespace muster::exec {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr auto kLastOutput = std::chrono::milliseconds(500);  // after the command's end, if others hold its output open
constexpr size_t kMaxOutgoing = 4 * kInputWindow;             // the bytes that wait for a client that reads nothing
constexpr auto kStopPatience = std::chrono::seconds(2);
constexpr int kGoodbyeMs = 5000;
constexpr int kLookMs = 20;

// Kills the remaining processes that the command started. They have become children of this process, because it is a
// subreaper. Returns false if none is left.
bool KillChildren() {
  std::ifstream children("/proc/thread-self/children");
  bool is_any = false;
  for (pid_t child = 0; children >> child;) is_any = ::kill(child, SIGKILL) == 0 || is_any;
  return is_any;
}

// One of the command's two outputs.
struct Output {
  UniqueFd fd;
  size_t left = 0;  // bytes that it held when the command ended, and that are not read yet
  void Hold() {
    int bytes = 0;
    if (fd.is_open() && ::ioctl(fd.get(), FIONREAD, &bytes) == 0) left = static_cast<size_t>(bytes);
  }
  bool HasAll() const { return !fd.is_open() || left == 0; }
};

class Command {
 public:
  explicit Command(int socket) : socket_(socket) {}

  void Serve() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    signals_ = TakeSignals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT});
    const std::optional<std::string> words = TakeWords();
    if (!words || !Start(*words)) return;
    ::fcntl(socket_, F_SETFL, O_NONBLOCK);
    Obey();  // the frames that came with the words
    while (is_asker_there_ && !(is_end_reported_ && outgoing_.empty())) Turn();
    if (is_asker_there_) {
      // The client must close first, or the last frames might be lost.
      pollfd ready{socket_, POLLIN, 0};
      ::poll(&ready, 1, kGoodbyeMs);
      return;
    }
    EndAll();
  }

 private:
  std::optional<std::string> TakeWords() {
    while (true) {
      if (std::optional<Frame> frame = frames_.Take()) {
        if (frame->kind != FrameKind::kRun) return std::nullopt;
        return std::move(frame->bytes);
      }
      std::string in;
      if (frames_.is_broken() || ReadSome(socket_, kPieceBytes, in) == ReadResult::kEnd) return std::nullopt;
      frames_.Add(in);
    }
  }

  bool Start(const std::string& words) {
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return false;
    leader_ = ::fork();
    if (leader_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // if this process died, nothing else would end the command
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      ::close_range(3, ~0U, 0);
      RestoreSignals();
      ::execl("/bin/sh", "sh", "-c", words.c_str(), nullptr);
      ::_exit(127);
    }
    ::setpgid(leader_, leader_);
    for (const int end : {in[0], out[1], err[1]}) ::close(end);
    input_.reset(in[1]);
    output_.fd.reset(out[0]);
    error_.fd.reset(err[0]);
    for (const int end : {in[1], out[0], err[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
    return leader_ > 0;
  }

  void Turn() {
    const bool has_room = outgoing_.size() < kPieceBytes;
    pollfd ready[] = {{socket_, static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
                      {signals_.get(), POLLIN, 0},
                      {has_room ? output_.fd.get() : -1, POLLIN, 0},
                      {has_room ? error_.fd.get() : -1, POLLIN, 0},
                      {pending_.empty() ? -1 : input_.get(), POLLOUT, 0}};
    ::poll(ready, 5, leader_ == 0 ? kLookMs : -1);
    while (const int signal = NextSignal(signals_.get())) {
      if (signal == SIGCHLD) continue;
      Signal(signal);
      give_up_at_ = SteadyTime::now() + kStopPatience;
    }
    if (ready[2].revents != 0) PassOn(output_, FrameKind::kOutput);
    if (ready[3].revents != 0) PassOn(error_, FrameKind::kError);
    if (ready[4].revents != 0) GiveInput();
    if (ready[0].revents != 0) TakeFrames();
    Reap();
    ReportEnd();
    Flush();
  }

  void ReportEnd() {
    if (leader_ != 0 || is_end_reported_) return;
    const auto now = SteadyTime::now();
    const bool is_drained = !output_.fd.is_open() && !error_.fd.is_open();
    if (is_drained || (now >= report_at_ && output_.HasAll() && error_.HasAll())) {
      is_end_reported_ = true;
      Send(FrameBytes(FrameKind::kExit, exit_code_));
    }
  }

  void Send(const std::string& bytes) {
    outgoing_ += bytes;
    if (outgoing_.size() > kMaxOutgoing) is_asker_there_ = false;
  }

  void Flush() {
    while (!outgoing_.empty()) {
      const ssize_t sent = ::send(socket_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) {
        const bool is_full = sent < 0 && errno == EAGAIN;
        const bool has_given_up = leader_ == 0 && give_up_at_ && SteadyTime::now() >= *give_up_at_;
        is_asker_there_ = is_asker_there_ && is_full && !has_given_up;
        return;
      }
      outgoing_.erase(0, static_cast<size_t>(sent));
    }
  }

  void PassOn(Output& from, FrameKind kind) {
    std::string bytes;
    const ReadResult got = ReadSome(from.fd.get(), kPieceBytes, bytes);
    if (got == ReadResult::kSome) Send(FrameBytes(kind, bytes));
    if (got == ReadResult::kEnd) from.fd.reset();
    from.left -= std::min(from.left, bytes.size());
  }

  void TakeFrames() {
    std::string in;
    if (ReadSome(socket_, kPieceBytes, in) == ReadResult::kEnd) is_asker_there_ = false;
    frames_.Add(in);
    Obey();
  }

  void Obey() {
    while (std::optional<Frame> frame = frames_.Take()) {
      if (frame->kind == FrameKind::kSignal) Signal(static_cast<int>(frame->number()));
      if (frame->kind == FrameKind::kUnread) (frame->number() == 1 ? output_ : error_).fd.reset();
      if (frame->kind != FrameKind::kInput) continue;
      is_input_over_ = is_input_over_ || frame->bytes.empty();
      pending_ += frame->bytes;
      if (pending_.size() > 2 * kInputWindow) is_asker_there_ = false;  // the client exceeds its window
      GiveInput();
    }
    if (frames_.is_broken()) is_asker_there_ = false;
  }

  void GiveInput() {
    if (!pending_.empty()) {
      const ssize_t written = input_.is_open() ? ::write(input_.get(), pending_.data(), pending_.size()) : -1;
      if (written < 0 && input_.is_open() && (errno == EAGAIN || errno == EINTR)) return;
      const size_t taken = written < 0 ? pending_.size() : static_cast<size_t>(written);  // failed: no reader is left
      pending_.erase(0, taken);
      Send(FrameBytes(FrameKind::kCredit, static_cast<uint32_t>(taken)));
      if (written < 0) input_.reset();
    }
    if (pending_.empty() && is_input_over_) input_.reset();
  }

  void Signal(int signal) const {
    if (signal > 0 && signal < SIGRTMIN && leader_ > 0) ::kill(-leader_, signal);
  }

  void Reap() {
    int status = 0;
    while (true) {
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid <= 0) return;
      if (pid != leader_) continue;
      leader_ = 0;
      exit_code_ = static_cast<uint32_t>(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
      report_at_ = SteadyTime::now() + kLastOutput;
      output_.Hold();
      error_.Hold();
    }
  }

  // Called when the client has gone. The command gets SIGTERM, as if an ssh connection had broken. Then all processes
  // that are left are killed, unlike with ssh.
  void EndAll() {
    Signal(SIGTERM);
    const auto kill_at = SteadyTime::now() + kStopPatience;
    while (leader_ > 0 && SteadyTime::now() < kill_at) {
      AwaitEnds();
    }
    if (leader_ > 0) ::kill(-leader_, SIGKILL);
    while (KillChildren()) AwaitEnds();
  }

  // Waits a moment for children to end, and reaps them.
  void AwaitEnds() {
    pollfd ready{signals_.get(), POLLIN, 0};
    ::poll(&ready, 1, kLookMs);
    while (NextSignal(signals_.get()) != 0) {
    }
    Reap();
  }

  const int socket_;
  FrameReader frames_;
  UniqueFd signals_, input_;
  Output output_, error_;
  std::string outgoing_;  // bytes that the socket has not taken
  std::string pending_;   // of stdin
  bool is_input_over_ = false;
  bool is_asker_there_ = true;
  bool is_end_reported_ = false;
  pid_t leader_ = 0;  // 0: it has ended
  uint32_t exit_code_ = 0;
  SteadyTime::time_point report_at_;
  std::optional<SteadyTime::time_point> give_up_at_;  // after a stop: how long to wait for a client that reads nothing
};

}  // namespace

void ServeCommand(int socket) { Command(socket).Serve(); }

}  // namespace muster::exec
