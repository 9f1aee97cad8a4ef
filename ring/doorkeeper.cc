#include <algorithm>

#include "ring/neighbours.h"
#include "ring/sockets.h"

namespace muster::ring {
namespace {

constexpr size_t kMaxGuests = 32;     // for connections from the neighbour's address, and as many for the others
constexpr size_t kAcceptsAtOnce = 8;  // then the connections already accepted have their turn
constexpr absl::Duration kGuestTimeout = absl::Seconds(3);

}  // namespace

absl::StatusOr<std::unique_ptr<Doorkeeper>> Doorkeeper::Listen(const Meeting& meeting) {
  absl::StatusOr<UniqueFd> listener = ListenOn(meeting.plan->own().port);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<Doorkeeper>(new Doorkeeper(meeting, *std::move(listener)));
}

void Doorkeeper::TakeIn(MonotonicTime now) {
  for (size_t i = 0; i < kAcceptsAtOnce; ++i) {
    std::optional<IpAddress> from;
    UniqueFd fd = AcceptOne(listener_.get(), &from);
    if (!fd.is_open()) return;
    TuneSocket(fd.get());
    Guest guest;
    guest.is_from_neighbour = from == meeting_.plan->previous().address;
    MakeRoom(guest.is_from_neighbour);
    guest.channel.emplace(std::move(fd), meeting_.tls, /*is_dialed=*/false, meeting_.plan->previous().fingerprint);
    guest.deadline = now + kGuestTimeout;
    guests_.push_back(std::move(guest));
  }
}

void Doorkeeper::MakeRoom(bool is_from_neighbour) {
  size_t count = 0;
  auto leaves = guests_.end();
  bool is_silent = false;
  for (auto guest = guests_.begin(); guest != guests_.end(); ++guest) {  // the oldest first
    if (guest->is_from_neighbour != is_from_neighbour) continue;
    ++count;
    const bool has_spoken = !guest->channel || guest->channel->HasAnswered();
    if (leaves != guests_.end() && (is_silent || has_spoken)) continue;
    leaves = guest;
    is_silent = !has_spoken;
  }
  if (count < kMaxGuests) return;
  ++strangers_;
  guests_.erase(leaves);
}

void Doorkeeper::TurnAway(const Guest& guest, FaultKind kind, const std::string& detail) {
  ++strangers_;
  const Plan& plan = *meeting_.plan;
  if (!guest.is_from_neighbour) return;  // errors of a connection from elsewhere are not the ring's
  failure_ = Fault{plan.previous_rank(), plan.rank, kind, plan.rank, 0, detail};
}

bool Doorkeeper::Attend(Guest& guest, MonotonicTime now) {
  if (guest.channel) {
    const Channel::Io io = guest.channel->Handshake();
    if (io == Channel::Io::kAgain) return now < guest.deadline;
    if (io != Channel::Io::kDone) {
      // Only a certificate shows that the peer meant this ring: anyone may connect and send garbage.
      const HandshakeFault& fault = guest.channel->fault();
      if (guest.channel->HasRefusedPeer() || fault.kind == FaultKind::kCertificateRefused) {
        TurnAway(guest, fault.kind, fault.detail);
      } else {
        ++strangers_;
      }
      return false;
    }
    guest.link = std::make_unique<Link>(*std::move(guest.channel));
    guest.channel.reset();
  }
  guest.link->Pump(guest.greeting, 1);
  if (guest.greeting.is_wrong || !guest.link->is_open()) {
    ++strangers_;
    return false;
  }
  if (!guest.greeting.hello) return now < guest.deadline;
  const Hello wanted = HelloFor(meeting_, meeting_.plan->previous_rank());
  // Both sides send what they have, so that each can name the difference.
  guest.link->Send(FrameType::kHello, Encode(wanted));
  if (*guest.greeting.hello == wanted) {
    done_ = std::move(guest.link);
    return false;
  }
  guest.link->Pump(guest.greeting, 0);
  TurnAway(guest, FaultKind::kWrongPeer, HelloDifference(*guest.greeting.hello, wanted));
  return false;
}

void Doorkeeper::Step(MonotonicTime now) {
  if (done_ != nullptr) return;
  TakeIn(now);
  for (auto guest = guests_.begin(); guest != guests_.end() && done_ == nullptr;) {
    guest = Attend(*guest, now) ? std::next(guest) : guests_.erase(guest);
  }
  if (done_ != nullptr) guests_.clear();
}

void Doorkeeper::AddTo(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  for (const Guest& guest : guests_) {
    if (guest.channel) {
      fds.push_back({guest.channel->fd(), guest.channel->awaited(), 0});
    } else {
      fds.push_back({guest.link->fd(), guest.link->Events(), 0});
    }
  }
}

MonotonicTime Doorkeeper::NextWake() const {
  MonotonicTime wake = MonotonicTime::Never();
  for (const Guest& guest : guests_) wake = std::min(wake, guest.deadline);
  return wake;
}

}  // namespace muster::ring
