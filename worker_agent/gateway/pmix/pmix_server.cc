#include "worker_agent/gateway/pmix/pmix_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/exit_status.h"
#include "common/base/text.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"

namespace muster::agent {
namespace {

using pmix::Kind;

constexpr int kReadyMs = 5000;
// Until all ranks have come to the first fence: they are all starting. Later ones wait for as long as a rank works.
constexpr absl::Duration kFirstFenceLimit = absl::Minutes(10);
constexpr absl::Duration kPongTry = absl::Milliseconds(50);
constexpr int kPongTries = 20;
constexpr int kEndTries = 100;
constexpr int kEndTryMs = 10;
constexpr size_t kMaxInputBytes = pmix::kMaxFrameBytes + pmix::kHeadBytes;
constexpr size_t kMaxFencesInAdvance = 16;
constexpr size_t kMaxVariables = 256;
constexpr uint64_t kKey = 0;
constexpr char kMemoryPrefix[] = "muster-mpi-";
constexpr int kLockOfServer = 3;
constexpr char kNeeds[] = " before it was ready (it needs libpmix2)";

// What libpmix is to see of this process's environment. Where the agent is a PMIx client itself (srun --mpi=pmix), its
// own variables are not ms-pmix's.
std::vector<std::string> EnvironmentOfServer() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    for (const char* name : {"PATH=", "HOME=", "LANG=", "LD_LIBRARY_PATH=", "PMIX_MCA_"}) {
      if (absl::StartsWith(*variable, name)) kept.emplace_back(*variable);
    }
  }
  return kept;
}

// Of this user's agents which were killed together with their ms-pmix: nobody holds the folder's lock. A young folder
// may not be locked yet.
void RemoveDeadFolders(const std::string& memory) {
  constexpr absl::Duration kYoung = absl::Minutes(1);
  std::error_code error;
  for (std::filesystem::directory_iterator at(memory, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (!absl::StartsWith(at->path().filename().string(), kMemoryPrefix)) continue;
    const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!folder.is_open() || ::fstat(folder.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (ToAbslTime(Clock::System().Read().wall) - absl::FromTimeT(info.st_mtime) < kYoung) continue;
    std::error_code ignored;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(path, ignored);
  }
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string EndInWords(const ExitStatus& end) {
  return end.signal != 0 ? absl::StrCat("was killed by signal ", end.signal)
                         : absl::StrCat("ended with code ", end.code);
}

}  // namespace

PmixServer::PmixServer(PmixOptions options, const MpiLayout& layout, JobStore& store, const Clock& clock, EndRank end)
    : options_(std::move(options)),
      ranks_(layout.own_agent().ranks),
      end_(std::move(end)),
      allgather_(store, clock, "mpi/pmix", layout.own, static_cast<uint32_t>(layout.agents.size())),
      progress_(ranks_.size()) {}

absl::StatusOr<std::unique_ptr<PmixServer>> PmixServer::Start(PmixOptions options, const MpiLayout& layout,
                                                              JobStore& store, const Clock& clock, EndRank end) {
  std::unique_ptr<PmixServer> server(new PmixServer(std::move(options), layout, store, clock, std::move(end)));
  if (absl::Status opened = server->Open(layout); !opened.ok()) return opened;
  return server;
}

absl::Status PmixServer::Open(const MpiLayout& layout) {
  if (!inbox_->poller.status().ok()) return inbox_->poller.status();
  if (::mkdir(options_.folder.c_str(), 0700) != 0) {
    return absl::UnavailableError(absl::StrCat("MPI: can't make ", options_.folder, ": ", std::strerror(errno)));
  }
  MakeMemoryFolder();
  if (absl::Status spawned = Spawn(); !spawned.ok()) return spawned;
  std::string setup = absl::StrCat("nspace=muster-", layout.id, "\nfolder=", options_.folder,
                                   "\nmemory=", memory_folder_, "\nown=", layout.own, "\n");
  for (const MpiLayout::Agent& agent : layout.agents) {
    absl::StrAppend(&setup, "agent=", absl::StrJoin(agent.ranks, ","), "\n");
  }
  {
    const MutexLock lock(mutex_);
    Send(Kind::kSetup, setup);
  }
  if (absl::Status ready = WaitUntilReady(); !ready.ok()) return ready;
  if (absl::Status added = inbox_->poller.Add(socket_.get(), EPOLLIN, kKey); !added.ok()) return added;
  {
    const MutexLock lock(mutex_);
    is_serving_ = true;
  }
  absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

// Without it ranks share memory where Open MPI wants it.
void PmixServer::MakeMemoryFolder() {
  std::string name = absl::StrCat(options_.memory, "/", kMemoryPrefix, "XXXXXX");
  RemoveDeadFolders(options_.memory);
  if (::mkdtemp(name.data()) == nullptr) return;
  memory_folder_ = name;
  memory_lock_.reset(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (memory_lock_.is_open()) ::flock(memory_lock_.get(), LOCK_EX | LOCK_NB);
}

// In a group of its own: a Ctrl-C is not meant for it.
absl::Status PmixServer::Spawn() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("MPI: socketpair: ", std::strerror(errno)));
  }
  socket_.reset(pair[0]);
  const UniqueFd theirs(pair[1]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 0);
  if (memory_lock_.is_open()) posix_spawn_file_actions_adddup2(&actions, memory_lock_.get(), kLockOfServer);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> words = {options_.program};
  std::vector<std::string> variables = EnvironmentOfServer();
  variables.push_back(absl::StrCat("TMPDIR=", options_.folder));
  const int error = ::posix_spawn(&pid_, options_.program.c_str(), &actions, &attributes, Pointers(words).data(),
                                  Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return absl::OkStatus();
  pid_ = -1;
  return absl::UnavailableError(absl::StrCat("MPI: can't start ", options_.program, ": ", std::strerror(error)));
}

absl::Status PmixServer::WaitUntilReady() {
  {
    const MutexLock lock(mutex_);
    while (!output_.empty()) {
      pollfd writable{socket_.get(), POLLOUT, 0};
      if (::poll(&writable, 1, kReadyMs) <= 0) return absl::UnavailableError("MPI: ms-pmix does not read");
      Write();
      if (is_lost_) return absl::UnavailableError(absl::StrCat("MPI: ms-pmix ", Reap(), kNeeds));
    }
  }
  bool is_broken = false;
  while (true) {
    if (const std::optional<pmix::Frame> frame = pmix::TakeFrame(input_, is_broken)) {
      if (frame->kind == Kind::kReady) return TakeVariables(frame->bytes);
      const std::string said = frame->kind == Kind::kFailed ? frame->bytes : "something else than that it is ready";
      return absl::UnavailableError(absl::StrCat("MPI: ms-pmix says: ", Quoted(said, 256)));
    }
    pollfd readable{socket_.get(), POLLIN, 0};
    if (is_broken || ::poll(&readable, 1, kReadyMs) <= 0) {
      return absl::UnavailableError("MPI: ms-pmix did not become ready within 5 s");
    }
    char bytes[4096];
    const ssize_t size = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size == 0) return absl::UnavailableError(absl::StrCat("MPI: ms-pmix ", Reap(), kNeeds));
    if (size > 0) input_.append(bytes, static_cast<size_t>(size));
  }
}

absl::Status PmixServer::TakeVariables(const std::string& bytes) {
  variables_.resize(1);
  for (const absl::string_view variable : absl::StrSplit(bytes, '\0')) {
    if (variable.empty()) {
      variables_.emplace_back();
      continue;
    }
    const std::pair<std::string, std::string> named = absl::StrSplit(variable, absl::MaxSplits('=', 1));
    if (variables_.back().size() < kMaxVariables) variables_.back().insert(named);
  }
  if (variables_.size() < ranks_.size())
    return absl::InternalError("MPI: ms-pmix did not tell the variables of all ranks");
  variables_.resize(ranks_.size());
  if (memory_folder_.empty()) return absl::OkStatus();
  for (auto& variables : variables_) {
    for (const char* component : {"btl_vader", "osc_rdma", "osc_sm"}) {
      variables[absl::StrCat("OMPI_MCA_", component, "_backing_directory")] = memory_folder_;
    }
  }
  return absl::OkStatus();
}

PmixServer::~PmixServer() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  inbox_->poller.Wake();
  if (thread_.joinable()) thread_.join();
  inbox_->gathered.Close();
  socket_.reset();
  Reap();
  std::error_code ignored;
  std::filesystem::remove_all(options_.folder, ignored);
  if (!memory_folder_.empty()) std::filesystem::remove_all(memory_folder_, ignored);
}

// It ends where its socket is closed; it is killed where it does not. In words how it has ended.
std::string PmixServer::Reap() {
  if (pid_ < 0) return "has ended";
  socket_.reset();
  int status = 0;
  pid_t reaped = 0;
  for (int i = 0; i < kEndTries && reaped == 0; ++i) {
    reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == 0) ::poll(nullptr, 0, kEndTryMs);
  }
  if (reaped == 0) {
    ::kill(pid_, SIGKILL);
    reaped = ::waitpid(pid_, &status, 0);
  }
  const bool is_known = std::exchange(pid_, -1) == reaped;
  return is_known ? EndInWords(ExitStatus::FromWaitStatus(status)) : "has ended";
}

MpiProgress PmixServer::ProgressOf(uint32_t slot) {
  const MutexLock lock(mutex_);
  const uint64_t ping = ++pings_;
  Send(Kind::kPing, "");
  inbox_->poller.Wake();
  for (int i = 0; i < kPongTries && pongs_ < ping && !is_lost_ && !is_silent_; ++i) changed_.WaitFor(mutex_, kPongTry);
  if (pongs_ < ping) is_silent_ = true;
  return progress_[slot];
}

void PmixServer::Run() {
  while (true) {
    for (const epoll_event& event : inbox_->poller.Wait()) {
      if ((event.events & ~uint32_t{EPOLLOUT}) != 0 && !Read()) {
        inbox_->poller.Remove(socket_.get());
        const MutexLock lock(mutex_);
        Lose("the server of Open MPI's ranks on this node, ms-pmix, has ended");
      }
    }
    for (const Gathered& gathered : inbox_->gathered.TakeAll()) {
      is_gathering_ = false;
      fences_.erase(fences_.begin());
      const MutexLock lock(mutex_);
      if (gathered.ok()) {
        Send(Kind::kGathered, absl::StrJoin(*gathered, ""));
        continue;
      }
      // Of a round that is over, whose ranks are being stopped: each ends in its own time.
      if (absl::IsFailedPrecondition(gathered.status())) {
        Send(Kind::kFenceFailed, "");
        continue;
      }
      // Nobody gets out of it, and some would go on without.
      Condemn(absl::StrCat("MPI's fence between the nodes failed: ", std::string(gathered.status().message())));
    }
    NextFence();
    const MutexLock lock(mutex_);
    Write();
    if (is_stopping_) return;
  }
}

bool PmixServer::Read() {
  std::vector<char> bytes(1 << 16);
  const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  input_.append(bytes.data(), static_cast<size_t>(size));
  bool is_broken = false;
  while (const std::optional<pmix::Frame> frame = pmix::TakeFrame(input_, is_broken)) Take(*frame);
  return !is_broken && input_.size() <= kMaxInputBytes;
}

MpiProgress* PmixServer::OfRank(const std::string& digits) {
  uint32_t rank = 0;
  if (!absl::SimpleAtoi(digits, &rank)) return nullptr;
  const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
  return found == ranks_.end() ? nullptr : &progress_[static_cast<size_t>(found - ranks_.begin())];
}

void PmixServer::Take(const pmix::Frame& frame) {
  const MutexLock lock(mutex_);
  if (frame.kind == Kind::kFence) {
    // (One that is dropped would never be answered, and the answers behind it would go to others.)
    if (fences_.size() < kMaxFencesInAdvance) {
      fences_.push_back(frame.bytes);
    } else {
      Condemn(absl::StrCat("MPI: the program begins more than ", kMaxFencesInAdvance,
                           " PMIx fences before the first is over; wait for some of them (PMIx_Fence_nb)"));
    }
    return;
  }
  if (frame.kind == Kind::kPong) {
    ++pongs_;
    changed_.NotifyAll();
    return;
  }
  const std::vector<std::string> words = absl::StrSplit(frame.bytes, absl::MaxSplits(' ', 2));
  MpiProgress* progress = OfRank(words[0]);
  if (progress == nullptr) return;
  if (frame.kind == Kind::kConnected) progress->has_connected = true;
  if (frame.kind == Kind::kFinalized) progress->has_finalized = true;
  if (frame.kind != Kind::kAborted || words.size() < 3) return;
  progress->has_aborted = true;
  if (!absl::SimpleAtoi(words[1], &progress->abort_code)) progress->abort_code = 1;
  if (words[2] != "N/A") progress->abort_message = words[2];  // Open MPI's word for none
}

void PmixServer::NextFence() {
  if (is_gathering_ || fences_.empty()) return;
  is_gathering_ = true;
  const absl::Duration limit = std::exchange(had_fence_, true) ? absl::InfiniteDuration() : kFirstFenceLimit;
  allgather_.Start(fences_.front(), limit,
                   [inbox = inbox_](Gathered gathered) { inbox->gathered.Push(std::move(gathered)); });
}

void PmixServer::Send(Kind kind, const std::string& bytes) {
  if (!is_lost_) output_ += pmix::Encode(kind, bytes);
}

void PmixServer::Write() {
  if (output_.empty() || is_lost_) return;
  const ssize_t sent = ::send(socket_.get(), output_.data(), output_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return Lose("ms-pmix does not listen any more");
  if (sent > 0) output_.erase(0, static_cast<size_t>(sent));
  if (!thread_.joinable()) return;
  const uint32_t events = output_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  static_cast<void>(inbox_->poller.Modify(socket_.get(), events, kKey));
}

void PmixServer::Lose(const std::string& why) {
  if (std::exchange(is_lost_, true)) return;
  output_.clear();
  changed_.NotifyAll();
  Condemn(why);
}

void PmixServer::Condemn(const std::string& why) {
  for (uint32_t slot = 0; slot < progress_.size(); ++slot) {
    MpiProgress& progress = progress_[slot];
    if (progress.has_finalized || progress.has_aborted) continue;
    progress.error = why;
    if (is_serving_ && !is_stopping_) end_(slot);
  }
}

}  // namespace muster::agent
