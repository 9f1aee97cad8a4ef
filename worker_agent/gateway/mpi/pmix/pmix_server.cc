#include "worker_agent/gateway/mpi/pmix/pmix_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/sys/threads.h"

namespace muster::agent {
namespace {

using pmix::Kind;

constexpr absl::Duration kPongTry = absl::Milliseconds(50);
constexpr int kPongTries = 20;
constexpr size_t kMaxInputBytes = pmix::kMaxFrameBytes + pmix::kHeadBytes;
constexpr size_t kMaxFencesInAdvance = 16;
constexpr uint64_t kKey = 0;

std::optional<PublishedNames::Request> RequestOf(const std::string& bytes) {
  const std::optional<pmix::NameRequest> name = pmix::TakeName(bytes);
  if (!name) return std::nullopt;
  const auto kind = name->what == 'P'   ? PublishedNames::Kind::kPublish
                    : name->what == 'U' ? PublishedNames::Kind::kUnpublish
                                        : PublishedNames::Kind::kLookup;
  return PublishedNames::Request{kind, static_cast<uint32_t>(name->token), name->name, name->value};
}

pmix::NameResult ResultOf(const absl::Status& status) {
  if (status.ok()) return pmix::NameResult::kDone;
  if (absl::IsNotFound(status)) return pmix::NameResult::kNotThere;
  return absl::IsAlreadyExists(status) ? pmix::NameResult::kTaken : pmix::NameResult::kFailed;
}

}  // namespace

PmixServer::PmixServer(std::unique_ptr<PmixProcess> process, const RoundLayout& layout, JobStore& store,
                       const Clock& clock, EndRank end)
    : process_(std::move(process)),
      ranks_(layout.own_agent().ranks),
      end_(std::move(end)),
      fences_(layout, store, clock, "mpi/pmix"),
      modex_(layout, store, clock, fences_.shared_poller()),
      names_(store, fences_.shared_poller()),
      input_(process_->TakeInput()),
      progress_(ranks_.size()) {}

absl::StatusOr<std::unique_ptr<PmixServer>> PmixServer::Start(PmixOptions options, const RoundLayout& layout,
                                                              JobStore& store, const Clock& clock, EndRank end) {
  absl::StatusOr<std::unique_ptr<PmixProcess>> process = PmixProcess::Start(std::move(options), layout);
  if (!process.ok()) return process.status();
  std::unique_ptr<PmixServer> server(new PmixServer(*std::move(process), layout, store, clock, std::move(end)));
  if (absl::Status opened = server->Open(); !opened.ok()) return opened;
  return server;
}

absl::Status PmixServer::Open() {
  if (!fences_.poller().status().ok()) return fences_.poller().status();
  if (absl::Status added = fences_.poller().Add(process_->socket(), EPOLLIN, kKey); !added.ok()) return added;
  absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

PmixServer::~PmixServer() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  fences_.poller().Wake();
  if (thread_.joinable()) thread_.join();
}

MpiProgress PmixServer::ProgressOf(uint32_t slot) {
  const MutexLock lock(mutex_);
  const uint64_t ping = ++pings_;
  Send(Kind::kPing, "");
  fences_.poller().Wake();
  for (int i = 0; i < kPongTries && pongs_ < ping && !is_lost_ && !is_silent_; ++i) changed_.WaitFor(mutex_, kPongTry);
  if (pongs_ < ping) is_silent_ = true;
  return progress_[slot];
}

void PmixServer::Run() {
  while (true) {
    for (const epoll_event& event : fences_.poller().Wait()) {
      if ((event.events & ~uint32_t{EPOLLOUT}) != 0 && !Read()) {
        fences_.poller().Remove(process_->socket());
        const MutexLock lock(mutex_);
        Lose("the server of Open MPI's ranks on this node, ms-pmix, has ended");
      }
    }
    for (const Fences::Gathered& gathered : fences_.TakeAll()) {
      is_gathering_ = false;
      bundles_.erase(bundles_.begin());
      const MutexLock lock(mutex_);
      if (gathered.ok()) {
        Send(Kind::kGathered, absl::StrJoin(*gathered, ""));
        continue;
      }
      // The round is over and its ranks are being stopped. The failed fence does not end them; each ends at its own
      // time.
      if (absl::IsFailedPrecondition(gathered.status())) {
        Send(Kind::kFenceFailed, "");
        continue;
      }
      // No rank would leave the fence properly: after an error some would go on without it. So all of them are ended.
      Condemn(absl::StrCat("MPI's fence between the nodes failed: ", std::string(gathered.status().message())));
    }
    NextFence();
    TakeModex();
    TakeNames();
    const MutexLock lock(mutex_);
    Write();
    if (is_stopping_) return;
  }
}

bool PmixServer::Read() {
  std::vector<char> bytes(1 << 16);
  const ssize_t size = ::recv(process_->socket(), bytes.data(), bytes.size(), MSG_DONTWAIT);
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
    // (A fence that was dropped would never get an answer. The answers to later fences would then go to the wrong
    // ones.)
    if (bundles_.size() < kMaxFencesInAdvance) {
      bundles_.push_back(frame.bytes);
    } else {
      Condemn(absl::StrCat("MPI: the program begins more than ", kMaxFencesInAdvance,
                           " PMIx fences before the first is over; wait for some of them (PMIx_Fence_nb)"));
    }
    return;
  }
  if (frame.kind == Kind::kModex) return modex_.Give(frame.bytes);
  if (frame.kind == Kind::kAsk) {
    uint32_t rank = 0;
    if (absl::SimpleAtoi(frame.bytes, &rank)) modex_.Ask(rank);
    return;
  }
  if (frame.kind == Kind::kName) {
    if (std::optional<PublishedNames::Request> request = RequestOf(frame.bytes)) names_.Ask(*std::move(request));
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
  if (words[2] != "N/A") progress->abort_message = words[2];  // Open MPI's word for an empty message
}

void PmixServer::TakeModex() {
  for (const DirectModex::Answer& answer : modex_.TakeAll()) {
    const std::string rank = LengthText(answer.rank);
    const MutexLock lock(mutex_);
    if (answer.put.ok()) {
      Send(Kind::kModexOf, rank + *answer.put);
    } else {
      Send(Kind::kModexFailed, rank);
    }
  }
}

void PmixServer::TakeNames() {
  for (const PublishedNames::Answer& answer : names_.TakeAll()) {
    const MutexLock lock(mutex_);
    Send(Kind::kNamed,
         LengthText(answer.token) + static_cast<char>(ResultOf(answer.value.status())) + answer.value.value_or(""));
  }
}

void PmixServer::NextFence() {
  if (is_gathering_ || bundles_.empty()) return;
  is_gathering_ = true;
  fences_.Start(bundles_.front());
}

void PmixServer::Send(Kind kind, const std::string& bytes) {
  if (!is_lost_) output_ += pmix::Encode(kind, bytes);
}

void PmixServer::Write() {
  if (output_.empty() || is_lost_) return;
  const ssize_t sent = ::send(process_->socket(), output_.data(), output_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return Lose("ms-pmix does not read its input any more");
  if (sent > 0) output_.erase(0, static_cast<size_t>(sent));
  const uint32_t events = output_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  static_cast<void>(fences_.poller().Modify(process_->socket(), events, kKey));
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
    if (!is_stopping_) end_(slot);
  }
}

}  // namespace muster::agent
