// ms-pmix: the PMIx server of one agent in one round, for Open MPI's ranks. The agent starts it with one end of a pair
// of sockets as its standard input, and it ends when that is closed. It holds no key and decides nothing: what ranks
// want of other nodes the agent does.
//
// A program of its own since libpmix has threads, signal handlers and plugins of its own, and no static archive that
// works without them. libpmix calls back on its thread, which here only hands over and never waits.
#include <pmix_server.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/gateway/mpi/pmix/frames.h"
#include "worker_agent/gateway/mpi/pmix/job.h"
#include "worker_agent/gateway/mpi/pmix/outbox.h"
#include "worker_agent/gateway/mpi/pmix/own_modex.h"
#include "worker_agent/gateway/mpi/pmix/own_names.h"
#include "worker_agent/gateway/mpi/pmix/setup.h"

namespace muster::pmix {
namespace {

constexpr int kAgent = STDIN_FILENO;

class Server {
 public:
  // What is left where the agent was killed.
  void RemoveFolders() const {
    std::error_code ignored;
    for (const std::string& folder : {setup_.folder, setup_.memory}) {
      if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
    }
  }

  // Until the agent has gone; the program's exit code.
  int Run() {
    while (true) {
      output_ += TheOutbox().TakeFrames();
      if (TheOutbox().TakeModexWanted()) GiveModex(setup_);
      if (!output_.empty() && !Write()) return 0;
      pollfd fds[] = {{kAgent, static_cast<short>(output_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
                      {TheOutbox().wake(), POLLIN, 0}};
      if (poll(fds, 2, -1) < 0 && errno != EINTR) return 1;
      if ((fds[0].revents & ~POLLOUT) != 0 && !Read()) return 0;
    }
  }

 private:
  bool Write() {
    const ssize_t sent = send(kAgent, output_.data(), output_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    output_.erase(0, static_cast<size_t>(sent));
    return true;
  }

  bool Read() {
    std::vector<char> bytes(1 << 16);
    const ssize_t size = recv(kAgent, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    input_.append(bytes.data(), static_cast<size_t>(size));
    bool is_broken = false;
    while (const std::optional<Frame> frame = TakeFrame(input_, is_broken)) {
      if (!Take(*frame)) return false;
    }
    return !is_broken;
  }

  bool Take(const Frame& frame) {
    switch (frame.kind) {
      case Kind::kSetup:
        return Begin(frame.bytes);
      case Kind::kGathered:
        Answer(PMIX_SUCCESS, frame.bytes);
        return true;
      case Kind::kFenceFailed:
        Answer(PMIX_ERR_TIMEOUT, "");
        return true;
      case Kind::kModexOf:
      case Kind::kModexFailed:
        return AnswerModex(frame);
      case Kind::kNamed:
        return AnswerName(frame);
      case Kind::kPing:
        TheOutbox().Send(Kind::kPong, "");
        return true;
      default:
        return false;
    }
  }

  bool Begin(const std::string& text) {
    Setup& setup = setup_;
    std::string why;
    if (!ParseSetup(text, setup)) why = "its setup is damaged";
    if (why.empty()) {
      if (const char* error = StartServer(setup)) why = std::string("PMIx_server_init: ") + error;
    }
    if (why.empty()) {
      if (const char* error = RegisterJob(setup)) why = std::string("registering the job: ") + error;
    }
    const std::string environments = why.empty() ? Environments(setup, why) : "";
    TheOutbox().Send(why.empty() ? Kind::kReady : Kind::kFailed, why.empty() ? environments : why);
    return true;
  }

  static void Answer(pmix_status_t status, const std::string& bytes) {
    const Pending fence = TheOutbox().TakeFence();
    if (fence.done != nullptr) fence.Answer(status, bytes);
  }

  Setup setup_;
  std::string input_;
  std::string output_;
};

}  // namespace
}  // namespace muster::pmix

int main() {
  struct ucred ignored {};
  socklen_t size = sizeof ignored;
  if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &ignored, &size) != 0) {
    std::fprintf(stderr, "ms-pmix is started by ms-worker, for the ranks of Open MPI (--mpi pmix)\n");
    return 2;
  }
  muster::pmix::Server server;
  const int code = server.Run();
  PMIx_server_finalize();
  server.RemoveFolders();
  std::_Exit(code);  // nothing is left to do, and libpmix's threads may still run
}
