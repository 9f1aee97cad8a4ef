#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/sys/wait.h"
#include "ring/neighbours.h"
#include "ring/sockets.h"

namespace muster::ring {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kMaxPause = absl::Milliseconds(500);

FaultKind KindOf(int error) {
  switch (error) {
    case ECONNREFUSED:
      return FaultKind::kRefused;
    case ETIMEDOUT:
      return FaultKind::kTimedOut;
    default:
      return FaultKind::kUnreachable;
  }
}

}  // namespace

Hello HelloFor(const Meeting& meeting, uint32_t from) {
  const Plan& plan = *meeting.plan;
  return {kRingVersion,  plan.job_id,        plan.run, plan.round, plan.size(), from, (from + 1) % plan.size(),
          meeting.bytes, meeting.slow_factor};
}

void Dialer::Fail(FaultKind kind, const std::string& detail, MonotonicTime now) {
  is_hopeless_ = kind == FaultKind::kWrongCertificate || kind == FaultKind::kBadCertificate ||
                 kind == FaultKind::kCertificateRefused;
  const uint32_t own = meeting_.plan->rank;
  failure_ = Fault{own, meeting_.plan->next_rank(), kind, own, 0, detail};
  link_.reset();
  channel_.reset();
  fd_.reset();
  state_ = State::kIdle;
  retry_at_ = now + std::min(kMaxPause, kFirstPause * std::min(attempts_, 100));
}

void Dialer::Open(MonotonicTime now) {
  ++attempts_;
  attempt_deadline_ = now + meeting_.attempt_timeout;
  int error = 0;
  fd_ = StartConnecting(meeting_.plan->next().address, meeting_.plan->next().port, &error);
  if (!fd_.is_open()) return Fail(KindOf(error), std::strerror(error), now);
  state_ = State::kConnecting;
}

void Dialer::Connect(MonotonicTime now) {
  if (LookAt(fd_.get(), POLLOUT) == 0) return;
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) {
    const char* hint =
        error == ECONNREFUSED ? "nothing listens there, or a firewall refuses the connection" : std::strerror(error);
    return Fail(KindOf(error), absl::StrCat(hint, " (", attempts_, attempts_ == 1 ? " attempt)" : " attempts)"), now);
  }
  TuneSocket(fd_.get());
  channel_.emplace(std::move(fd_), meeting_.tls, /*is_dialed=*/true, meeting_.plan->next().fingerprint);
  state_ = State::kHandshaking;
}

void Dialer::Handshake(MonotonicTime now) {
  const Channel::Io io = channel_->Handshake();
  if (io == Channel::Io::kAgain) return;
  if (io != Channel::Io::kDone) {
    const HandshakeFault fault = channel_->fault();
    return Fail(fault.kind, fault.detail, now);
  }
  link_ = std::make_unique<Link>(*std::move(channel_));
  channel_.reset();
  link_->Send(FrameType::kHello, Encode(HelloFor(meeting_, meeting_.plan->rank)));
  greeting_ = {};
  state_ = State::kGreeting;
}

void Dialer::Greet(MonotonicTime now) {
  link_->Pump(greeting_, 1);
  if (greeting_.hello && !greeting_.is_wrong) {
    const Hello wanted = HelloFor(meeting_, meeting_.plan->rank);
    if (!(*greeting_.hello == wanted))
      return Fail(FaultKind::kWrongPeer, HelloDifference(*greeting_.hello, wanted), now);
    done_ = std::move(link_);
    state_ = State::kIdle;
    retry_at_ = MonotonicTime::Never();
    return;
  }
  if (greeting_.is_wrong) return Fail(FaultKind::kWrongPeer, "another program answers there, not a ring check", now);
  if (link_->is_open()) return;
  const std::string reason = link_->reason();
  const bool was_refused = link_->WasRefused();
  Fail(was_refused ? FaultKind::kCertificateRefused : FaultKind::kWrongPeer,
       was_refused ? reason : absl::StrCat("it refused this rank: ", reason), now);
}

void Dialer::Step(MonotonicTime now) {
  if (done_ != nullptr || is_hopeless_) return;
  if (state_ == State::kIdle && now >= retry_at_) Open(now);
  if (state_ == State::kConnecting) Connect(now);
  if (state_ == State::kHandshaking) Handshake(now);
  if (state_ == State::kGreeting) Greet(now);
  if (state_ == State::kIdle || now < attempt_deadline_) return;
  const char* what =
      state_ == State::kConnecting ? "no answer to the connect" : "it accepts the connection, but sends nothing";
  Fail(FaultKind::kTimedOut,
       absl::StrCat(what, " within ", absl::FormatDuration(meeting_.attempt_timeout), " (", attempts_,
                    attempts_ == 1 ? " attempt)" : " attempts)"),
       now);
}

void Dialer::AddTo(std::vector<pollfd>& fds) const {
  if (state_ == State::kConnecting) fds.push_back({fd_.get(), POLLOUT, 0});
  if (state_ == State::kHandshaking) fds.push_back({channel_->fd(), channel_->awaited(), 0});
  if (state_ == State::kGreeting) fds.push_back({link_->fd(), link_->Events(), 0});
}

MonotonicTime Dialer::NextWake() const {
  if (done_ != nullptr || is_hopeless_) return MonotonicTime::Never();
  return state_ == State::kIdle ? retry_at_ : attempt_deadline_;
}

}  // namespace muster::ring
