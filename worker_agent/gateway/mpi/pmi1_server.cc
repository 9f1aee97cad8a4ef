#include "worker_agent/gateway/mpi/pmi1_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "common/base/os_error.h"
#include "common/sys/threads.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLastWordsTry = absl::Milliseconds(50);
constexpr int kLastWordsTries = 20;
constexpr size_t kMaxOutputBytes = 64 * 1024;
constexpr size_t kReadBytes = 4096;

}  // namespace

Pmi1Server::Pmi1Server(const RoundLayout& layout, JobStore& store, const Clock& clock, EndRank end)
    : end_(std::move(end)), fences_(layout, store, clock, "mpi/pmi1"), pmi_(layout) {
  connections_.resize(layout.own_agent().ranks.size());
}

absl::StatusOr<std::unique_ptr<Pmi1Server>> Pmi1Server::Start(const RoundLayout& layout, JobStore& store,
                                                              const Clock& clock, EndRank end) {
  std::unique_ptr<Pmi1Server> server(new Pmi1Server(layout, store, clock, std::move(end)));
  if (absl::Status opened = server->Open(); !opened.ok()) return opened;
  return server;
}

absl::Status Pmi1Server::Open() {
  if (!fences_.poller().status().ok()) return fences_.poller().status();
  const MutexLock lock(mutex_);
  for (uint32_t slot = 0; slot < connections_.size(); ++slot) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      return OsError(absl::StatusCode::kResourceExhausted, "MPI: socketpair", errno);
    }
    connections_[slot].socket.reset(pair[0]);
    theirs_.emplace_back(pair[1]);
    if (absl::Status added = fences_.poller().Add(pair[0], EPOLLIN, slot); !added.ok()) return added;
  }
  absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

Pmi1Server::~Pmi1Server() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  fences_.poller().Wake();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const UniqueFd> Pmi1Server::TakeDescriptor(uint32_t slot) {
  return std::make_shared<const UniqueFd>(std::move(theirs_[slot]));
}

MpiProgress Pmi1Server::ProgressOf(uint32_t slot) {
  const MutexLock lock(mutex_);
  for (int i = 0; i < kLastWordsTries && connections_[slot].socket.is_open(); ++i) {
    changed_.WaitFor(mutex_, kLastWordsTry);
  }
  return pmi_.progress(slot);
}

void Pmi1Server::Run() {
  while (true) {
    for (const epoll_event& event : fences_.poller().Wait()) {
      const auto slot = static_cast<uint32_t>(event.data.u64);
      if ((event.events & EPOLLOUT) != 0) Write(slot);
      if ((event.events & ~uint32_t{EPOLLOUT}) != 0) Read(slot);
    }
    for (const Fences::Gathered& gathered : fences_.TakeAll()) {
      Pmi1::Step step;
      {
        const MutexLock lock(mutex_);
        step = pmi_.Gathered(gathered);
        // No rank leaves the barrier. Closing the connections ends the ranks, since MPICH ends when its launcher goes.
        if (step.replies.empty()) {
          for (uint32_t i = 0; i < connections_.size(); ++i) {
            if (!pmi_.progress(i).error.empty()) Close(i);
          }
        }
      }
      Carry(std::move(step));
    }
    const MutexLock lock(mutex_);
    if (is_stopping_) return;
  }
}

void Pmi1Server::Read(uint32_t slot) {
  {
    const MutexLock lock(mutex_);
    Connection& connection = connections_[slot];
    if (!connection.socket.is_open()) return;
    char bytes[kReadBytes];
    const ssize_t size = ::recv(connection.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return Close(slot);
    connection.input.append(bytes, static_cast<size_t>(size));
  }
  TakeLines(slot);
}

void Pmi1Server::TakeLines(uint32_t slot) {
  while (true) {
    Pmi1::Step step;
    {
      const MutexLock lock(mutex_);
      Connection& connection = connections_[slot];
      if (!connection.socket.is_open()) return;
      const size_t end = connection.input.find('\n');
      if (end == std::string::npos) {
        if (connection.input.size() > Pmi1::kMaxLineBytes) Close(slot);
        return;
      }
      const std::string line = connection.input.substr(0, end);
      connection.input.erase(0, end + 1);
      absl::StatusOr<Pmi1::Step> taken = pmi_.OnLine(slot, line);
      if (!taken.ok()) return Close(slot);
      if (pmi_.progress(slot).has_aborted) return end_(slot);
      step = *std::move(taken);
    }
    Carry(std::move(step));
  }
}

void Pmi1Server::Carry(Pmi1::Step step) {
  for (Pmi1::Reply& reply : step.replies) {
    {
      const MutexLock lock(mutex_);
      connections_[reply.slot].output += reply.line;
    }
    Write(reply.slot);
  }
  if (step.has_fence) fences_.Start(std::move(step.bundle));
}

void Pmi1Server::Write(uint32_t slot) {
  const MutexLock lock(mutex_);
  Connection& connection = connections_[slot];
  if (!connection.socket.is_open()) return;
  const ssize_t sent =
      ::send(connection.socket.get(), connection.output.data(), connection.output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return connection.output.clear();  // its last messages still count
  if (sent > 0) connection.output.erase(0, static_cast<size_t>(sent));
  if (connection.output.size() > kMaxOutputBytes) return Close(slot);  // it does not read the answers
  const uint32_t events = connection.output.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  if (!fences_.poller().Modify(connection.socket.get(), events, slot).ok()) Close(slot);
}

void Pmi1Server::Close(uint32_t slot) {
  connections_[slot].socket.reset();
  changed_.NotifyAll();
}

}  // namespace muster::agent
