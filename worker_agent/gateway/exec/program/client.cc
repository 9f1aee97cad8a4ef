#include "worker_agent/gateway/exec/program/client.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/local_socket.h"
#include "worker_agent/gateway/exec/program/io.h"
#include "worker_agent/gateway/exec/request.h"

namespace muster::exec {
namespace {

constexpr int kFailed = 255;

int Fail(const std::string& why) {
  WriteAll(STDERR_FILENO, absl::StrCat("ms-exec: ", why, "\n"));
  return kFailed;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Client {
 public:
  explicit Client(UniqueFd agent) : agent_(std::move(agent)) {}

  // None: frames follow. Else the code to end with.
  std::optional<int> Ask(const SshWords& words, const std::string& token) {
    Request request;
    request.secret = token;
    request.to = words.host;
    request.words = words.command;
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
      while (std::optional<Frame> frame = frames_.Take()) {
        if (const std::optional<int> code = Take(*frame)) return *code;
      }
      if (frames_.is_broken()) return Fail("what comes from the remote command is broken");
      pollfd ready[] = {{agent_.get(), POLLIN, 0},
                        {signals.get(), POLLIN, 0},
                        {is_input_open_ && credit_ > 0 ? STDIN_FILENO : -1, POLLIN, 0}};
      if (::poll(ready, 3, -1) < 0) continue;
      while (const int signal = NextSignal(signals.get())) {
        WriteAll(agent_.get(), FrameBytes(FrameKind::kSignal, static_cast<uint32_t>(signal)));
      }
      if (ready[2].revents != 0) GiveInput();
      std::string in;
      if (ready[0].revents != 0 && ReadSome(agent_.get(), kPieceBytes, in) == ReadResult::kEnd) {
        return Fail(
            "the connection to the remote command was lost: its node or its agent is gone, or the round is over");
      }
      frames_.Add(in);
    }
  }

 private:
  static std::optional<int> Obey(const Answer& answer, const SshWords& words) {
    if (answer.verdict == Verdict::kGo) return std::nullopt;
    if (answer.verdict != Verdict::kHere) return Fail(answer.text);
    RestoreSignals();
    ::execl("/bin/sh", "sh", "-c", words.command.c_str(), nullptr);
    return Fail("/bin/sh can't be started");
  }

  std::optional<int> Take(const Frame& frame) {
    switch (frame.kind) {
      case FrameKind::kOutput:
        WriteAll(STDOUT_FILENO, frame.bytes);
        break;
      case FrameKind::kError:
        WriteAll(STDERR_FILENO, frame.bytes);
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

  void GiveInput() {
    std::string bytes;
    const ReadResult got = ReadSome(STDIN_FILENO, std::min(credit_, kPieceBytes), bytes);
    if (got == ReadResult::kNothing) return;
    is_input_open_ = got == ReadResult::kSome;
    credit_ -= bytes.size();
    WriteAll(agent_.get(), FrameBytes(FrameKind::kInput, bytes));
  }

  UniqueFd agent_;
  FrameReader frames_;
  size_t credit_ = kInputWindow;
  bool is_input_open_ = true;
};

}  // namespace

int RunClient(const SshWords& words) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string path = Variable("MUSTER_EXEC_SOCKET");
  const std::string token = Variable("MUSTER_EXEC_TOKEN");
  if (path.empty() || token.empty()) {
    return Fail(
        "no agent of Muster's serves this process: start the job with ms-worker --per_job --allow_exec -- COMMAND on "
        "every node");
  }
  absl::StatusOr<UniqueFd> agent = ConnectLocally(path);
  if (!agent.ok()) return Fail(absl::StrCat("this node's agent is gone: ", agent.status().message()));
  Client client(*std::move(agent));
  if (const std::optional<int> code = client.Ask(words, token)) return *code;
  return client.Carry(words);
}

}  // namespace muster::exec
