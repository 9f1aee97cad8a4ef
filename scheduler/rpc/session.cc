#include "scheduler/rpc/session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/net/fair_share.h"
#include "scheduler/rpc/grpc_bytes.h"
#include "scheduler/rpc/validation.h"

namespace muster::scheduler {
namespace {

constexpr uint32_t kRetryAfterMs = 2'000;
constexpr absl::Duration kLastWordsTime = absl::Milliseconds(500);  // for a revoked peer to receive the reason

grpc::StatusCode CodeOf(v1::Refusal::Reason reason) {
  if (reason == v1::Refusal::TRY_LATER) return grpc::StatusCode::RESOURCE_EXHAUSTED;
  if (reason == v1::Refusal::NOT_AUTHORIZED) return grpc::StatusCode::PERMISSION_DENIED;
  return grpc::StatusCode::INVALID_ARGUMENT;
}

PeerFacts PeerThatStays(const ServiceContext& services, const grpc::CallbackServerContext& context) {
  PeerFacts peer = *services.peers.Find(context.peer());
  services.authorizer.AddIssuers(peer);
  return peer;
}

std::shared_ptr<const v1::SchedulerMessage> WithOffer(const v1::SchedulerMessage& welcome, v1::DatagramOffer offer) {
  auto offering = std::make_shared<v1::SchedulerMessage>(welcome);
  *offering->mutable_welcome()->mutable_datagrams() = std::move(offer);
  return offering;
}

}  // namespace

Session::Session(const ServiceContext& services, grpc::CallbackServerContext* context)
    : services_(services),
      context_(context),
      peer_(PeerThatStays(services, *context)),
      id_(services.streams.NextId()) {}

void Session::Begin() {
  self_ = shared_from_this();  // gRPC uses a plain pointer to this object until it calls OnDone
  if (const auto oldest = services_.streams.Add(id_, PrincipalOf(peer_.identity, peer_.address), self_))
    oldest->MakeRoom();
  services_.streams.Watch(id_, services_.clock.Read().monotonic + services_.join_limit);
  ReadOn();
}

void Session::Send(std::shared_ptr<const v1::SchedulerMessage> message) {
  bool has_room = false;
  // If the heartbeat came as a datagram, answer it with one. An acknowledgement with a list of missing nodes is also
  // sent over the stream, because the list does not fit into a datagram.
  if (services_.datagrams != nullptr && message->has_acknowledgement() &&
      services_.datagrams->Answer(id_, message->acknowledgement()) && !message->acknowledgement().has_waiting()) {
    return;
  }
  {
    MutexLock lock(mutex_);
    if (life_ != Life::kOpen) return;
    // Call note_joined under the lock: then OnDone, which calls note_left, can only come later.
    if (message->has_welcome() && !std::exchange(is_welcomed_, true)) {
      if (services_.note_joined) services_.note_joined(peer_.connection);
      if (services_.datagrams != nullptr) message = WithOffer(*message, services_.datagrams->Admit(id_));
    }
    has_room = queue_.Push(std::move(message));
  }
  if (!has_room) {
    services_.counted.Note(
        Severity::kWarning, "slow reader",
        absl::StrCat("ended the stream of ", peer_.ToString(), ": it does not read what is sent to it"));
    EndWith(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many unread messages"));
    return;
  }
  Pump();
}

void Session::Close() { EndWith(grpc::Status::OK); }

void Session::CloseForShutdown() {
  EndWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the scheduler is shutting down"));
}

void Session::OnDeadline() {
  bool is_silent = false;
  {
    MutexLock lock(mutex_);
    if (life_ == Life::kDone) return;
    // The peer doesn't read the last messages: break off the stream. Do so also after Finish, because its trailers can
    // hang.
    if (life_ != Life::kOpen) context_->TryCancel();
    is_silent = life_ == Life::kOpen && standing_ == Standing::kUnknown;
  }
  if (!is_silent) return;
  const std::string limit = FormatDuration(services_.join_limit);
  services_.counted.Note(Severity::kWarning, "silent stream",
                         absl::StrCat("ended a stream of ", peer_.ToString(), " that sent no join within ", limit));
  EndWith(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, absl::StrCat("no join within ", limit)));
}

void Session::MakeRoom() {
  services_.counted.Note(
      Severity::kWarning, "crowded out",
      absl::StrCat("ended a stream of ", peer_.ToString(), " that had not joined: too many are open"));
  EndWith(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams are open that have not joined"));
}

void Session::CheckPeer() {
  const absl::Status status = services_.authorizer.CheckStillWelcome(peer_);
  if (status.ok()) return;
  {
    MutexLock lock(mutex_);
    if (life_ != Life::kOpen) return;
  }
  Refuse(v1::Refusal::NOT_AUTHORIZED, std::string(status.message()), KindOf(status));
  services_.streams.Watch(id_, services_.clock.Read().monotonic + kLastWordsTime);
}

void Session::OnReadDone(bool ok) {
  if (!ok) {
    EndWith(grpc::Status::OK);  // the agent has closed the stream, or OnCancel ends it with another status
    return;
  }
  const grpc::ByteBuffer bytes = std::exchange(incoming_, {});
  if (bytes.Length() > kMaxSessionMessageBytes) {
    Refuse(v1::Refusal::MALFORMED,
           absl::StrCat("a message of ", bytes.Length(), " bytes; at most ", kMaxSessionMessageBytes, " are allowed"),
           kOversize);
    return;
  }
  v1::AgentMessage message;
  if (!Parse(bytes, message)) {
    Refuse(v1::Refusal::MALFORMED, absl::StrCat("a message of ", bytes.Length(), " bytes that is no AgentMessage"),
           "malformed message");
    return;
  }
  Handle(message);
}

void Session::Handle(const v1::AgentMessage& message) {
  bool has_joined = false;
  {
    MutexLock lock(mutex_);
    has_joined = standing_ != Standing::kUnknown;
  }
  if (message.has_join() != !has_joined) {
    Refuse(v1::Refusal::MALFORMED,
           has_joined ? "a second join on one stream" : "the first message of a stream must be a join",
           "malformed message");
    return;
  }
  switch (message.kind_case()) {
    case v1::AgentMessage::kJoin:
      HandleJoin(message.join());
      return;
    case v1::AgentMessage::kReport:
      if (const absl::Status status = CheckReport(message.report()); !status.ok()) {
        Refuse(v1::Refusal::MALFORMED, std::string(status.message()), "malformed report");
        return;
      }
      PostAndReadOn(ReportReceived{id_, message.report()});
      return;
    case v1::AgentMessage::kProbeAnswer:
      PostAndReadOn(ProbeAnswered{id_, message.probe_answer().probe()});
      return;
    case v1::AgentMessage::kStackTraces:
      if (const absl::Status status = CheckStackTraces(message.stack_traces()); !status.ok()) {
        Refuse(v1::Refusal::MALFORMED, std::string(status.message()), "malformed stacks");
        return;
      }
      PostAndReadOn(StackTracesReceived{id_, message.stack_traces()});
      return;
    case v1::AgentMessage::kLogLines:
      if (const absl::Status status = CheckLogLines(message.log_lines()); !status.ok()) {
        Refuse(v1::Refusal::MALFORMED, std::string(status.message()), "malformed log lines");
        return;
      }
      PostAndReadOn(LogLinesReceived{id_, message.log_lines()});
      return;
    case v1::AgentMessage::KIND_NOT_SET:  // a newer agent's message: ignore it, so that the agent's job goes on
      services_.counted.Note(Severity::kInfo, "unknown message",
                             absl::StrCat("ignored a message from ", peer_.ToString(),
                                          ": this version of ms-scheduler does not know its kind"));
      ReadOn();
      return;
  }
}

void Session::HandleJoin(const v1::Join& join) {
  if (const absl::Status status = CheckJoin(join); !status.ok()) {
    Refuse(v1::Refusal::MALFORMED, std::string(status.message()), "malformed join");
    return;
  }
  if (const absl::Status status = services_.authorizer.AuthorizeJoin(peer_, join); !status.ok()) {
    Refuse(v1::Refusal::NOT_AUTHORIZED, std::string(status.message()), KindOf(status));
    return;
  }
  if (const std::string why = join.run() == 0 ? services_.WhyFull() : ""; !why.empty()) {
    Refuse(v1::Refusal::TRY_LATER, why, "full");
    return;
  }
  {
    MutexLock lock(mutex_);
    if (life_ != Life::kOpen) return;  // join_limit has just ended the stream
    standing_ = Standing::kAsking;     // set before the join is posted, because the core may answer at once
  }
  services_.streams.NoteJoined(id_);
  JoinRequested request{id_, join, peer_.address, peer_.identity, peer_.reached_at};
  // The other nodes will expect this certificate from the node. So take the fingerprint from the connection, and not
  // from the node's message.
  request.join.mutable_node()->set_certificate_fingerprint(peer_.fingerprint);
  if (services_.post(std::move(request), [self = shared_from_this()] { self->ReadOn(); })) {
    bool has_ended = false;
    {
      MutexLock lock(mutex_);
      standing_ = Standing::kKnown;
      has_ended = life_ != Life::kOpen;
    }
    if (has_ended) PostClosed();  // what ended the stream could not post StreamClosed before the join
    return;
  }
  {
    MutexLock lock(mutex_);
    standing_ = Standing::kUnknown;
  }
  Refuse(v1::Refusal::TRY_LATER, "the scheduler is busy: too many joins are waiting", "busy");
}

void Session::PostAndReadOn(Event event) {
  services_.post(std::move(event), [self = shared_from_this()] { self->ReadOn(); });
}

void Session::ReadOn() {
  {
    MutexLock lock(mutex_);
    wants_read_ = true;
  }
  Pump();
}

void Session::Refuse(v1::Refusal::Reason reason, const std::string& text, const std::string& kind) {
  services_.counted.Note(Severity::kWarning, kind, absl::StrCat("refused ", peer_.ToString(), ": ", text));
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_refusal()->set_reason(reason);
  message->mutable_refusal()->set_text(text);
  if (reason == v1::Refusal::TRY_LATER) message->mutable_refusal()->set_retry_after_ms(kRetryAfterMs);
  {
    MutexLock lock(mutex_);
    if (life_ == Life::kOpen) queue_.Push(std::move(message));
  }
  EndWith(grpc::Status(CodeOf(reason), text));
}

void Session::EndWith(grpc::Status status) {
  {
    MutexLock lock(mutex_);
    if (life_ == Life::kOpen) {
      life_ = Life::kEnding;
      status_ = std::move(status);
      services_.streams.Watch(id_, services_.clock.Read().monotonic + services_.close_limit);
    }
  }
  PostClosed();
  Pump();
}

void Session::PostClosed() {
  {
    MutexLock lock(mutex_);
    if (standing_ != Standing::kKnown) return;
    standing_ = Standing::kGone;
  }
  services_.post(StreamClosed{id_}, nullptr);
}

Session::Step Session::NextStep() {
  if (life_ == Life::kFinished || life_ == Life::kDone) return Step::kNone;
  if (wants_read_ && life_ == Life::kOpen) {
    wants_read_ = false;
    return Step::kRead;
  }
  if (!is_writing_ && !is_peer_gone_) {
    if (const OutgoingQueue::Message message = queue_.Take()) {
      is_writing_ = true;
      outgoing_ = Serialise(*message);
      return Step::kWrite;
    }
  }
  if (life_ == Life::kEnding && !is_writing_ && starting_ == 0) {
    life_ = Life::kFinished;
    return Step::kFinish;
  }
  return Step::kNone;
}

void Session::Pump() {
  // Another thread may run OnDone, which drops self_, before StartSteps returns.
  const std::shared_ptr<Session> alive = shared_from_this();
  StartSteps();
}

void Session::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    is_writing_ = false;
    if (!ok) is_peer_gone_ = true;
  }
  Pump();
}

void Session::OnCancel() {
  {
    MutexLock lock(mutex_);
    is_peer_gone_ = true;
  }
  EndWith(grpc::Status(grpc::StatusCode::CANCELLED, "the stream was broken off"));
}

void Session::OnDone() {
  PostClosed();
  {
    MutexLock lock(mutex_);
    life_ = Life::kDone;
    if (is_welcomed_ && services_.note_left) services_.note_left(peer_.connection);
  }
  if (services_.datagrams != nullptr) services_.datagrams->Forget(id_);
  const std::shared_ptr<Session> last = std::move(self_);
  services_.streams.Remove(id_);
}

}  // namespace muster::scheduler
