#include <algorithm>

#include "ring/neighbours.h"
#include "ring/sockets.h"

namespace muster::ring {
namespace {

constexpr size_t kMaxCandidates = 32;  // connections from the neighbour's address, and as many from elsewhere
constexpr size_t kAcceptsAtOnce = 8;   // before the connections that were already accepted have their turn
constexpr absl::Duration kCandidateTimeout = absl::Seconds(3);

}  // namespace

absl::StatusOr<std::unique_ptr<NeighbourAcceptor>> NeighbourAcceptor::Listen(const Meeting& meeting) {
  absl::StatusOr<UniqueFd> listener = ListenOn(meeting.plan->own().port);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<NeighbourAcceptor>(new NeighbourAcceptor(meeting, *std::move(listener)));
}

void NeighbourAcceptor::TakeIn(MonotonicTime now) {
  for (size_t i = 0; i < kAcceptsAtOnce; ++i) {
    std::optional<IpAddress> from;
    UniqueFd fd = AcceptOne(listener_.get(), &from);
    if (!fd.is_open()) return;
    TuneSocket(fd.get());
    Candidate candidate;
    candidate.is_from_neighbour = from == meeting_.plan->previous().address;
    MakeRoom(candidate.is_from_neighbour);
    candidate.channel.emplace(std::move(fd), meeting_.tls, /*is_dialed=*/false, meeting_.plan->previous().fingerprint);
    candidate.deadline = now + kCandidateTimeout;
    candidates_.push_back(std::move(candidate));
  }
}

void NeighbourAcceptor::MakeRoom(bool is_from_neighbour) {
  size_t count = 0;
  auto leaves = candidates_.end();
  bool is_silent = false;
  for (auto candidate = candidates_.begin(); candidate != candidates_.end(); ++candidate) {  // the oldest first
    if (candidate->is_from_neighbour != is_from_neighbour) continue;
    ++count;
    const bool has_spoken = !candidate->channel || candidate->channel->HasAnswered();
    if (leaves != candidates_.end() && (is_silent || has_spoken)) continue;
    leaves = candidate;
    is_silent = !has_spoken;
  }
  if (count < kMaxCandidates) return;
  ++refused_;
  candidates_.erase(leaves);
}

void NeighbourAcceptor::TurnAway(const Candidate& candidate, FaultKind kind, const std::string& detail) {
  ++refused_;
  const Plan& plan = *meeting_.plan;
  if (!candidate.is_from_neighbour) return;  // a connection from elsewhere is no fault of the ring's link
  failure_ = Fault{plan.previous_rank(), plan.rank, kind, plan.rank, 0, detail};
}

bool NeighbourAcceptor::Attend(Candidate& candidate, MonotonicTime now) {
  if (candidate.channel) {
    const Channel::Io io = candidate.channel->Handshake();
    if (io == Channel::Io::kAgain) return now < candidate.deadline;
    if (io != Channel::Io::kDone) {
      // Report a fault only if a certificate was refused. Any other failure may come from an unknown client that sends
      // garbage.
      const HandshakeFault& fault = candidate.channel->fault();
      if (candidate.channel->HasRefusedPeer() || fault.kind == FaultKind::kCertificateRefused) {
        TurnAway(candidate, fault.kind, fault.detail);
      } else {
        ++refused_;
      }
      return false;
    }
    candidate.link = std::make_unique<Link>(*std::move(candidate.channel));
    candidate.channel.reset();
  }
  candidate.link->Pump(candidate.greeting, 1);
  if (candidate.greeting.is_wrong || !candidate.link->is_open()) {
    ++refused_;
    return false;
  }
  if (!candidate.greeting.hello) return now < candidate.deadline;
  const Hello wanted = HelloFor(meeting_, meeting_.plan->previous_rank());
  // Send our hello even if the peer's is wrong, so that both sides can report the difference.
  candidate.link->Send(FrameType::kHello, Encode(wanted));
  if (*candidate.greeting.hello == wanted) {
    done_ = std::move(candidate.link);
    return false;
  }
  candidate.link->Pump(candidate.greeting, 0);
  TurnAway(candidate, FaultKind::kWrongPeer, HelloDifference(*candidate.greeting.hello, wanted));
  return false;
}

void NeighbourAcceptor::Step(MonotonicTime now) {
  if (done_ != nullptr) return;
  TakeIn(now);
  for (auto candidate = candidates_.begin(); candidate != candidates_.end() && done_ == nullptr;) {
    candidate = Attend(*candidate, now) ? std::next(candidate) : candidates_.erase(candidate);
  }
  if (done_ != nullptr) candidates_.clear();
}

void NeighbourAcceptor::AddTo(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  for (const Candidate& candidate : candidates_) {
    if (candidate.channel) {
      fds.push_back({candidate.channel->fd(), candidate.channel->awaited(), 0});
    } else {
      fds.push_back({candidate.link->fd(), candidate.link->Events(), 0});
    }
  }
}

MonotonicTime NeighbourAcceptor::NextWake() const {
  MonotonicTime wake = MonotonicTime::Never();
  for (const Candidate& candidate : candidates_) wake = std::min(wake, candidate.deadline);
  return wake;
}

}  // namespace muster::ring
