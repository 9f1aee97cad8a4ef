#include "ring/ring_check.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/wait.h"

namespace muster::ring {
namespace {

constexpr absl::Duration kSettleTime = absl::Seconds(3);
constexpr absl::Duration kSettleLook = absl::Milliseconds(50);
constexpr absl::Duration kLinger = absl::Milliseconds(200);
constexpr absl::Duration kMaxAttempt = absl::Seconds(5);
constexpr absl::Duration kMaxPoll = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<RingCheck>> RingCheck::Create(const Plan& plan, const RingTls* tls,
                                                             const RingOptions& options, const Clock& clock) {
  Meeting meeting{&plan, tls, options.bytes, std::min(options.connect_timeout / 3, kMaxAttempt), options.slow_factor};
  std::unique_ptr<NeighbourAcceptor> acceptor;
  if (plan.size() > 1) {
    absl::StatusOr<std::unique_ptr<NeighbourAcceptor>> listening = NeighbourAcceptor::Listen(meeting);
    if (!listening.ok()) return listening.status();
    acceptor = *std::move(listening);
  }
  return std::unique_ptr<RingCheck>(new RingCheck(plan, meeting, options, clock, std::move(acceptor)));
}

RingCheck::RingCheck(const Plan& plan, const Meeting& meeting, const RingOptions& options, const Clock& clock,
                     std::unique_ptr<NeighbourAcceptor> acceptor)
    : plan_(plan),
      options_(options),
      clock_(clock),
      started_(clock.Read().monotonic),
      meeting_deadline_(started_ + options.connect_timeout),
      deadline_(meeting_deadline_ + options.timeout),
      dialer_(meeting, started_),
      acceptor_(std::move(acceptor)),
      settled_(plan.size(), false) {}

RingResult RingCheck::Run() {
  RingResult result;
  for (Fault& fault : LoopbackFaults(plan_)) faults_.Add(std::move(fault));
  if (plan_.size() > 1 && faults_.empty()) {
    const bool is_good =
        Meet() && MeasureLatency() && MeasureBandwidth() && Gather(own_) && Judge() && AddUp() && Leave();
    if (!is_good) Settle();
  }
  result.faults = faults_.RootFaults();
  result.links = links_;
  result.sum_ns = sum_ns_;
  result.took = Now() - started_;
  return result;
}

uint64_t RingCheck::MovedBetweenNeighbours() const {
  return (next_ == nullptr ? 0 : next_->moved()) + (previous_ == nullptr ? 0 : previous_->moved());
}

bool RingCheck::Wait(bool is_for_next, const std::function<bool()>& done) {
  // In the first phase, allow for other ranks that may still be looking for their neighbours.
  const MonotonicTime from_when = phase_ == 1 ? std::max(Now(), meeting_deadline_) : Now();
  MonotonicTime deadline = std::min(deadline_, from_when + options_.step_timeout);
  is_waiting_ = true;
  waits_for_next_ = is_for_next;
  uint64_t moved = MovedBetweenNeighbours();
  while (!done()) {
    if (!faults_.empty()) return false;
    // While bytes move, the link has not stalled, although it may be slow. So move the deadline on.
    if (const uint64_t now_moved = MovedBetweenNeighbours(); now_moved != moved) {
      moved = now_moved;
      deadline = std::max(deadline, std::min(deadline_, Now() + options_.step_timeout));
    }
    if (Now() >= deadline) {
      const uint32_t from = waits_for_next_ ? plan_.rank : plan_.previous_rank();
      Found({from, (from + 1) % plan_.size(), FaultKind::kStalled, plan_.rank, Progress(),
             absl::StrCat("nothing more within ", absl::FormatDuration(options_.step_timeout))});
      return false;
    }
    PollOnce(deadline);
  }
  is_waiting_ = false;
  ++steps_;
  return faults_.empty();
}

void RingCheck::PollOnce(MonotonicTime deadline) {
  std::vector<pollfd> fds;
  const bool is_ready = (next_ && next_->HasMore()) || (previous_ && previous_->HasMore()) ||
                        (previous_ && previous_->IsPaused() && chunk_left_ > 0);
  MonotonicTime wake = deadline;
  for (const Link* link : {next_.get(), previous_.get()}) {
    // Leave out a link without events: otherwise, if its peer has closed it, each poll would return at once.
    if (link != nullptr && link->Events() != 0) fds.push_back({link->fd(), link->Events(), 0});
  }
  if (!has_met_next_) {
    dialer_.AddTo(fds);
    wake = std::min(wake, dialer_.NextWake());
  }
  if (!has_met_previous_) {
    acceptor_->AddTo(fds);
    wake = std::min(wake, acceptor_->NextWake());
  }
  poll(fds.data(), fds.size(), is_ready ? 0 : PollMs(std::min(wake - Now(), kMaxPoll)));
  if (!has_met_next_) {
    dialer_.Step(Now());
    next_ = dialer_.TakeLink();
    has_met_next_ = next_ != nullptr;
    if (has_met_next_) SendAllKnown(*next_);
  }
  if (!has_met_previous_) {
    acceptor_->Step(Now());
    previous_ = acceptor_->TakeLink();
    has_met_previous_ = previous_ != nullptr;
    if (has_met_previous_) SendAllKnown(*previous_);
  }
  PumpLinks();
}

void RingCheck::PumpLinks() {
  for (const bool is_next : {true, false}) {
    std::unique_ptr<Link>& link = is_next ? next_ : previous_;
    if (link == nullptr) continue;
    is_pumping_next_ = is_next;
    link->Pump(*this);
    if (!link->is_open()) OnClosed(link, is_next);
  }
}

void RingCheck::OnClosed(std::unique_ptr<Link>& link, bool is_next) {
  const bool was_refused = is_next && link->WasRefused();
  const std::string reason = link->reason();
  link.reset();
  if (is_leaving_ || !faults_.empty()) return;
  const uint32_t from = is_next ? plan_.rank : plan_.previous_rank();
  const uint32_t to = (from + 1) % plan_.size();
  if (was_refused) return Found({from, to, FaultKind::kCertificateRefused, plan_.rank, 0, reason});
  if (phase_ > 0) return Found({from, to, FaultKind::kBroken, plan_.rank, Progress(), reason});
  // Before the first phase this is no fault: the neighbour may have been restarted, and will connect again.
  (is_next ? has_met_next_ : has_met_previous_) = false;
  if (is_next) dialer_.Restart(Now());
}

void RingCheck::SendAllKnown(Link& link) {
  for (const Fault& fault : faults_.all()) link.Send(FrameType::kFault, Encode(fault));
  for (uint32_t rank = 0; rank < settled_.size(); ++rank) {
    if (settled_[rank]) link.Send(FrameType::kSettled, EncodeSettled(rank));
  }
}

void RingCheck::Spread(const Fault& fault) {
  for (const auto& link : {next_.get(), previous_.get()}) {
    if (link != nullptr) link->Send(FrameType::kFault, Encode(fault));
  }
}

void RingCheck::SendNext(FrameType type, const std::string& payload) {
  if (next_ != nullptr) next_->Send(type, payload);
}

void RingCheck::Found(Fault fault) {
  if (!faults_.Add(fault)) return;
  Spread(fault);
  ReportOwnLinks();
}

void RingCheck::ReportOwnLinks() {
  if (is_waiting_ && phase_ > 0) {
    is_waiting_ = false;
    const uint32_t from = waits_for_next_ ? plan_.rank : plan_.previous_rank();
    Found({from, (from + 1) % plan_.size(), FaultKind::kStalled, plan_.rank, Progress(), ""});
  }
  if (phase_ > 0) return;
  const bool is_late = Now() >= meeting_deadline_;
  const bool is_asked = dialer_.IsHopeless() || is_late || faults_.IsAbout(plan_.rank);
  if (!has_met_next_ && dialer_.failure() && is_asked) Found(*dialer_.failure());
  if (!has_met_previous_ && acceptor_->failure()) Found(*acceptor_->failure());
}

bool RingCheck::Meet() {
  const auto is_over = [&] { return Now() >= meeting_deadline_ || dialer_.IsHopeless() || !faults_.empty(); };
  while (!(has_met_next_ && has_met_previous_) && !is_over()) PollOnce(meeting_deadline_);
  if (!faults_.empty()) return false;
  if (has_met_next_ && has_met_previous_) {
    ++phase_;
    return Barrier();
  }
  if (!has_met_next_) {
    Fault fault{plan_.rank, plan_.next_rank(), FaultKind::kTimedOut, plan_.rank, 0, "no answer"};
    Found(dialer_.failure().value_or(fault));
  }
  if (!has_met_previous_ && !dialer_.IsHopeless()) {
    const int refused = acceptor_->refused();
    Fault fault{plan_.previous_rank(),
                plan_.rank,
                FaultKind::kMissing,
                plan_.rank,
                0,
                absl::StrCat("it did not connect within ", absl::FormatDuration(options_.connect_timeout),
                             refused > 0 ? absl::StrCat("; ", refused, " other connections were refused") : "")};
    Found(acceptor_->failure().value_or(fault));
  }
  return false;
}

bool RingCheck::IsResolved() const {
  const bool knows_next = has_met_next_ || dialer_.IsHopeless() || faults_.IsAbout(plan_.rank);
  const bool knows_previous =
      has_met_previous_ || acceptor_->failure().has_value() || faults_.IsAbout(plan_.previous_rank());
  return knows_next && knows_previous;
}

void RingCheck::NoteSettled(uint32_t rank) {
  if (settled_[rank]) return;
  settled_[rank] = true;
  for (const auto& link : {next_.get(), previous_.get()}) {
    if (link != nullptr) link->Send(FrameType::kSettled, EncodeSettled(rank));
  }
}

bool RingCheck::HasHeardAll() const {
  // If both links of this rank are faulty, nothing can reach it.
  if (faults_.IsAbout(plan_.rank) && faults_.IsAbout(plan_.previous_rank())) return true;
  for (uint32_t rank = 0; rank < plan_.size(); ++rank) {
    const uint32_t before = (rank + plan_.size() - 1) % plan_.size();
    const bool is_cut_off = faults_.IsAbout(rank) && faults_.IsAbout(before);
    if (!settled_[rank] && !is_cut_off) return false;
  }
  return true;
}

void RingCheck::Settle() {
  ReportOwnLinks();
  // Before the first phase, wait for ranks that are just starting: they must hear of the fault, too, and may know
  // others.
  const MonotonicTime end = (phase_ == 0 ? std::max(Now(), meeting_deadline_) : Now()) + kSettleTime;
  while (Now() < end && !HasHeardAll() && (next_ || previous_ || phase_ == 0)) {
    if (phase_ > 0 || IsResolved() || Now() >= meeting_deadline_) {
      ReportOwnLinks();
      NoteSettled(plan_.rank);
    }
    PollOnce(std::min(end, Now() + kSettleLook));
  }
  ReportOwnLinks();
  const MonotonicTime gone = Now() + kLinger;  // time for the last frames to reach the neighbours
  while (Now() < gone && (next_ || previous_)) PollOnce(gone);
}

void RingCheck::OnControl(FrameType type, const std::string& payload) {
  switch (type) {
    case FrameType::kToken:
      if (is_pumping_next_) return BadFrame("a token from the wrong side");
      ++tokens_;
      return;
    case FrameType::kPing:
      if (is_pumping_next_ || payload.size() != 8) return BadFrame("a ping from the wrong side");
      previous_->Send(FrameType::kPong, payload);
      return;
    case FrameType::kPong:
      if (!is_pumping_next_) return BadFrame("an answer from the wrong side");
      ++pongs_;
      return;
    case FrameType::kStreamEnd: {
      if (is_pumping_next_) return BadFrame("a stream from the wrong side");
      const int64_t ns = absl::ToInt64Nanoseconds(stream_last_ - stream_begun_);
      if (stream_bytes_ > 0 && ns > 0) {
        const double rate = static_cast<double>(stream_bytes_) * 1e9 / static_cast<double>(ns);
        own_.bytes_per_second = std::max(own_.bytes_per_second, static_cast<uint64_t>(rate));
      }
      stream_bytes_ = 0;
      stream_begun_ = MonotonicTime();
      ++streams_ended_;
      return;
    }
    case FrameType::kRecord:
      return OnRecord(payload);
    case FrameType::kFault:
      return OnFault(payload);
    case FrameType::kSettled: {
      const std::optional<uint32_t> rank = DecodeSettled(payload);
      if (!rank || *rank >= plan_.size()) return BadFrame("a malformed note");
      return NoteSettled(*rank);
    }
    case FrameType::kHello:
    case FrameType::kStream:
    case FrameType::kChunk:
      return BadFrame("a second hello");
  }
}

void RingCheck::OnStream(size_t bytes) {
  const MonotonicTime now = Now();
  if (stream_begun_ == MonotonicTime()) {
    stream_begun_ = now;  // the first bytes start the clock, and are not counted
  } else {
    stream_bytes_ += bytes;
  }
  stream_last_ = now;
}

FrameSink::Room RingCheck::RoomForChunk(size_t length, char** target) {
  if (is_pumping_next_ || has_summed_) return Room::kWrong;
  if (chunk_left_ == 0) return Room::kLater;
  if (length == 0 || length > chunk_left_) return Room::kWrong;
  *target = chunk_target_;
  return Room::kHere;
}

void RingCheck::OnChunk(size_t length) {
  chunk_target_ += length;
  chunk_left_ -= length;
}

void RingCheck::OnRecord(const std::string& payload) {
  const std::optional<Record> record = DecodeRecord(payload);
  if (is_pumping_next_ || !record || record->rank >= plan_.size() || record->rank == plan_.rank) {
    return BadFrame("a malformed record");
  }
  if (record->stage == stage_ + 1 && early_records_.size() < plan_.size()) {
    early_records_.push_back(*record);
    return;
  }
  if (stage_ == 0 || record->stage != stage_ || records_[record->rank]) return BadFrame("a record out of order");
  records_[record->rank] = *record;
  // Pass the record on, unless it is the next rank's own: then it has gone round the whole ring.
  if (record->rank != plan_.next_rank()) SendNext(FrameType::kRecord, payload);
}

void RingCheck::OnFault(const std::string& payload) {
  const std::optional<Fault> fault = DecodeFault(payload);
  const bool is_good = fault && fault->from < plan_.size() && fault->to == (fault->from + 1) % plan_.size() &&
                       fault->reporter < plan_.size();
  if (!is_good) return BadFrame("a malformed fault");
  Found(*fault);
}

void RingCheck::BadFrame(const char* what) {
  const uint32_t from = is_pumping_next_ ? plan_.rank : plan_.previous_rank();
  Found({from, (from + 1) % plan_.size(), FaultKind::kWrongPeer, plan_.rank, 0, absl::StrCat("it sends ", what)});
}

}  // namespace muster::ring
