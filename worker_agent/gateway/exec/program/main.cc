// ms-exec has two uses. Launchers find it as ssh and start programs with it on other nodes of their job (RunClient).
// ms-worker starts it to run the commands that come to its node (holder.h).
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/version.h"
#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/local_socket.h"
#include "worker_agent/gateway/exec/program/holder.h"
#include "worker_agent/gateway/exec/program/io.h"
#include "worker_agent/gateway/exec/program/ssh_words.h"
#include "worker_agent/gateway/exec/request.h"

// The launch agent lives as long as the remote command. It passes on stdin, signals and output. It ends with the
// command's exit code or, like ssh, with 255 if there is none.
namespace muster::exec {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr int kFailed = 255;
constexpr auto kUnreadPatience = std::chrono::seconds(2);
constexpr int kHeldLookMs = 100;

int Fail(const std::string& why) {
  WriteAll(STDERR_FILENO, absl::StrCat("ms-exec: ", why, "\n"));
  return kFailed;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the path of the first ssh in PATH that is not an ms-exec, of this or another version; empty: there is none.
std::string OtherSsh() {
  std::error_code ignored;
  for (const absl::string_view folder : absl::StrSplit(Variable("PATH"), ':', absl::SkipEmpty())) {
    const std::string path = absl::StrCat(folder, "/ssh");
    if (::access(path.c_str(), X_OK) != 0 || std::filesystem::is_directory(path, ignored)) continue;
    if (std::filesystem::canonical(path, ignored).filename() != "ms-exec" && !ignored) return path;
  }
  return "";
}

class Client {
 public:
  Client(UniqueFd agent, char* const* next) : agent_(std::move(agent)), next_(next) {}

  // Sends the request and waits for the answer. Returns nothing if frames follow, otherwise this program's exit code.
  std::optional<int> Ask(const SshWords& words, const std::string& token) {
    Request request;
    request.secret = token;
    request.to = words.host;
    if (words.cannot.empty()) request.words = words.command;
    const absl::StatusOr<std::string> bytes = RequestBytes(request);
    if (!bytes.ok()) return Fail(std::string(bytes.status().message()));
    if (!WriteAll(agent_.get(), *bytes)) return Fail("this node's agent has closed the connection");
    std::string in;
    while (true) {
      std::string_view rest = in;
      const absl::StatusOr<std::optional<Answer>> answer = TakeAnswer(rest);
      if (!answer.ok()) return Fail(std::string(answer.status().message()));
      if (answer->has_value()) {
        frames_.Add(rest);
        return Obey(**answer, words);
      }
      if (ReadSome(agent_.get(), kPieceBytes, in) == ReadResult::kEnd) {
        return Fail("this node's agent has closed the connection");
      }
    }
  }

  int Carry(const SshWords& words) {
    is_input_open_ = words.takes_stdin;
    if (!is_input_open_) WriteAll(agent_.get(), FrameBytes(FrameKind::kInput, ""));
    const UniqueFd signals = TakeSignals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2});
    while (true) {
      while (held_.empty()) {
        std::optional<Frame> frame = frames_.Take();
        if (!frame) break;
        if (const std::optional<int> code = Take(*std::move(frame))) return *code;
      }
      if (frames_.is_broken()) return Fail("the remote command sent damaged data");
      pollfd ready[] = {{held_.empty() ? agent_.get() : -1, POLLIN, 0},
                        {signals.get(), POLLIN, 0},
                        {is_input_open_ && credit_ > 0 ? STDIN_FILENO : -1, POLLIN, 0},
                        {held_.empty() ? -1 : held_for_, POLLOUT, 0}};
      if (::poll(ready, 4, stop_signal_ != 0 && !held_.empty() ? kHeldLookMs : -1) < 0) continue;
      while (const int signal = NextSignal(signals.get())) PassOn(signal);
      if (ready[2].revents != 0) GiveInput();
      if (ready[3].revents != 0) WriteHeld();
      if (stop_signal_ != 0 && !held_.empty() && SteadyTime::now() >= give_up_at_) return 128 + stop_signal_;
      std::string in;
      if (ready[0].revents != 0 && ReadSome(agent_.get(), kPieceBytes, in) == ReadResult::kEnd) {
        return Fail(
            "the connection to the remote command was lost: its node or its agent is gone, or the round is over");
      }
      frames_.Add(in);
    }
  }

 private:
  std::optional<int> Obey(const Answer& answer, const SshWords& words) const {
    if (answer.code == AnswerCode::kUnknown && next_ != nullptr) {
      if (const std::string other = OtherSsh(); !other.empty()) {
        RestoreSignals();
        ::execv(other.c_str(), next_);
      }
    }
    if (answer.code != AnswerCode::kUnknown && !words.cannot.empty()) return Fail(words.cannot);
    if (answer.code == AnswerCode::kGo) return std::nullopt;
    if (answer.code != AnswerCode::kHere) return Fail(answer.text);
    RestoreSignals();
    const int nothing = words.takes_stdin ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
    ::execl("/bin/sh", "sh", "-c", words.command.c_str(), nullptr);
    return Fail("/bin/sh can't be started");
  }

  std::optional<int> Take(Frame frame) {
    switch (frame.kind) {
      case FrameKind::kOutput:
      case FrameKind::kError:
        held_for_ = frame.kind == FrameKind::kOutput ? STDOUT_FILENO : STDERR_FILENO;
        if (unread_.count(held_for_) == 0) held_ = std::move(frame.bytes);
        break;
      case FrameKind::kCredit:
        credit_ = std::min<size_t>(credit_ + frame.number(), kInputWindow);
        break;
      case FrameKind::kExit:
        return static_cast<int>(frame.number() & 255U);
      default:
        break;
    }
    return std::nullopt;
  }

  // Writes only as many bytes as a pipe that poll calls writable takes at once. So this program never blocks in the
  // write, and passes signals on even if nothing reads its output.
  void WriteHeld() {
    const ssize_t written = ::write(held_for_, held_.data(), std::min<size_t>(held_.size(), PIPE_BUF));
    if (written >= 0) {
      held_.erase(0, static_cast<size_t>(written));
      give_up_at_ = SteadyTime::now() + kUnreadPatience;
    } else if (errno != EAGAIN && errno != EINTR) {
      held_.clear();
      unread_.insert(held_for_);
      WriteAll(agent_.get(), FrameBytes(FrameKind::kUnread, static_cast<uint32_t>(held_for_)));
    }
  }

  void PassOn(int signal) {
    WriteAll(agent_.get(), FrameBytes(FrameKind::kSignal, static_cast<uint32_t>(signal)));
    if (signal == SIGUSR1 || signal == SIGUSR2) return;
    stop_signal_ = signal;
    give_up_at_ = SteadyTime::now() + kUnreadPatience;
  }

  void GiveInput() {
    std::string bytes;
    const ReadResult got = ReadSome(STDIN_FILENO, std::min(credit_, kPieceBytes), bytes);
    if (got == ReadResult::kNothing) return;
    is_input_open_ = got == ReadResult::kSome;
    credit_ -= bytes.size();
    WriteAll(agent_.get(), FrameBytes(FrameKind::kInput, bytes));
  }

  UniqueFd agent_;
  char* const* const next_;
  FrameReader frames_;
  std::string held_;  // output that is not written yet
  int held_for_ = STDOUT_FILENO;
  std::set<int> unread_;  // outputs without a reader
  int stop_signal_ = 0;
  SteadyTime::time_point give_up_at_;  // after a stop was requested: when to stop waiting for a reader of the output
  size_t credit_ = kInputWindow;
  bool is_input_open_ = true;
};

// Acts as the launch agent and returns the exit code. If the host is not in the round, this process becomes the next
// ssh in PATH, with the arguments `next` (the program's own name first). If `next` is null, it fails instead.
int RunClient(const SshWords& words, char* const* next) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string path = Variable("MUSTER_EXEC_SOCKET");
  const std::string token = Variable("MUSTER_EXEC_TOKEN");
  if (path.empty() || token.empty()) {
    return Fail(
        "no Muster agent serves this process: start the job with ms-worker --per_job --allow_exec -- COMMAND on "
        "every node");
  }
  absl::StatusOr<UniqueFd> agent = ConnectLocally(path);
  if (!agent.ok()) return Fail(absl::StrCat("this node's agent is gone: ", agent.status().message()));
  Client client(*std::move(agent), next);
  if (const std::optional<int> code = client.Ask(words, token)) return *code;
  return client.Carry(words);
}

}  // namespace
}  // namespace muster::exec

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--serve") {
    const char* const control = std::getenv(muster::exec::kHolderVariable);
    int number = -1;
    if (control == nullptr || !absl::SimpleAtoi(control, &number)) {
      std::fputs("ms-exec: only ms-worker may start ms-exec --serve\n", stderr);
      return 2;
    }
    ::unsetenv(muster::exec::kHolderVariable);
    return muster::exec::RunHolder(number);
  }
  const absl::StatusOr<muster::exec::SshWords> parsed = muster::exec::ParseSshWords(words);
  if (!parsed.ok()) {
    std::fprintf(stderr, "ms-exec: %s\n", std::string(parsed.status().message()).c_str());
    return 255;
  }
  if (parsed->asks_version) {
    std::fprintf(stderr, "ms-exec of Muster %s, in place of ssh\n", muster::kVersion);
    return 0;
  }
  // Opens descriptors 0 to 2 where they are closed. Otherwise a socket could become one of them.
  for (int fd = 0; fd <= STDERR_FILENO;) fd = ::open("/dev/null", O_RDWR);
  const std::string name = argc > 0 ? argv[0] : "";
  const bool stands_for_ssh = name.substr(name.rfind('/') + 1) == "ssh";
  return muster::exec::RunClient(*parsed, stands_for_ssh ? argv : nullptr);
}
