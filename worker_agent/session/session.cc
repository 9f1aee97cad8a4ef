#include "worker_agent/session/session.h"

#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/sha256.h"
#include "common/hosts/compare.h"
#include "common/net/connection_error.h"
#include "common/net/grpc_calls.h"
#include "common/net/net.h"
#include "worker_agent/session/channel.h"
#include "worker_agent/session/stream.h"
#include "worker_agent/session/workers.h"

namespace muster::agent {
namespace {

// The longest time for which Close waits for cancelled streams, and for dials that are still connecting, to end.
constexpr absl::Duration kCancelTime = absl::Seconds(1);
constexpr absl::Duration kCrowdInterval = absl::Seconds(5);
constexpr int kShutOuts = 5;
constexpr char kShutOutText[] =
    "it closes the connection right after each TLS handshake, so it does not accept this node's certificate; see the "
    "scheduler's log and `ms-ctl counters`";

// `may_want_tls`: the connection is plain text and had no answer, so the scheduler may want TLS.
std::string EndInWords(const grpc::Status& status, bool may_want_tls) {
  if (status.ok()) return "the scheduler ended the connection";
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::StrCat("the server that answers there is not ms-scheduler (", status.error_message(), ")");
  }
  if (IsAnotherServer(status.error_message())) {
    return "it answers, but is no ms-scheduler: is MS_SCHED_PORT right?";
  }
  return may_want_tls ? PlainConnectionErrorInWords(status.error_message())
                      : ConnectionErrorInWords(status.error_message());
}

}  // namespace

// Shared with the threads that connect and read: resolving a name can't be interrupted, so they may outlive the
// session.
class Session::Impl : public std::enable_shared_from_this<Session::Impl> {
 public:
  // One dial and its stream.
  struct Link {
    Stream stream;
    // The outcome of the channel's TLS handshake. Other threads read it even while the handshake is under way.
    const std::shared_ptr<HandshakeResult> handshake_result = std::make_shared<HandshakeResult>();
    std::shared_ptr<grpc::Channel> channel;             // once it is connected; guarded by mutex_
    std::shared_ptr<HeartbeatSocket> heartbeat_socket;  // once the scheduler has offered it; guarded by mutex_
  };

  Impl(SessionOptions options, std::function<void(Event)> deliver)
      : options_(std::move(options)), deliver_(std::move(deliver)) {}

  // Adds a link that is being opened. Ends all links from before at once, unless the new one is a replacement.
  std::shared_ptr<Link> Dial(uint64_t connect_seq, bool is_replacement) {
    auto link = std::make_shared<Link>();
    std::map<uint64_t, std::shared_ptr<Link>> old;
    {
      MutexLock lock(mutex_);
      if (!is_replacement) old.swap(links_);
      links_[connect_seq] = link;
    }
    for (const auto& [seq, dropped] : old) dropped->stream.Cancel();
    return link;
  }

  // Runs in a thread of its own: connects, and reads the stream until it is over.
  void Run(uint64_t connect_seq, const std::shared_ptr<Link>& link) {
    ConnectAndRead(connect_seq, link);
    MutexLock lock(mutex_);
    std::erase(ending_, link);  // it would keep the connection open
  }

  void Send(uint64_t connect_seq, v1::AgentMessage message) {
    if (message.has_join()) {
      for (v1::HostFact& fact : *message.mutable_join()->mutable_node()->mutable_host_facts()) {
        if (fact.name() == kFactClock) fact.set_value(absl::StrCat(Clock::System().Read().wall.unix_ms));
      }
    }
    if (const std::shared_ptr<Link> link = Find(connect_seq)) link->stream.Send(std::move(message));
  }

  void HangUp(uint64_t connect_seq) {
    MutexLock lock(mutex_);
    for (auto it = links_.begin(); it != links_.end();) {
      if (connect_seq != 0 && it->first != connect_seq) {
        ++it;
        continue;
      }
      it->second->channel = nullptr;
      it->second->stream.HangUp();
      ending_.push_back(std::move(it->second));
      it = links_.erase(it);
    }
  }

  void CheckPeer() {
    if (options_.security.tls == nullptr) return;
    const std::shared_ptr<const TlsState> state = options_.security.tls->Current();
    MutexLock lock(mutex_);
    for (const auto& [seq, link] : links_) {
      // The link's own thread then reports why.
      if (!link->handshake_result->IsStillGood(*state->trust)) link->stream.Cancel();
    }
  }

  std::shared_ptr<grpc::Channel> channel() {
    MutexLock lock(mutex_);
    std::shared_ptr<grpc::Channel> newest;
    for (const auto& [seq, link] : links_) {
      if (link->channel != nullptr) newest = link->channel;
    }
    return newest;
  }

  std::shared_ptr<HeartbeatSocket> heartbeat_socket(uint64_t connect_seq) {
    MutexLock lock(mutex_);
    const auto found = links_.find(connect_seq);
    return found == links_.end() ? nullptr : found->second->heartbeat_socket;
  }

  // Cancels the streams that were hung up and are not over yet.
  void CancelEnding() {
    MutexLock lock(mutex_);
    for (const std::shared_ptr<Link>& link : ending_) link->stream.Cancel();
  }

  // Runs in a thread of its own.
  void FetchPeers(const std::string& job_id, const agent::FetchPeers& request);

  void DeliverNothingMore() {
    MutexLock lock(deliver_mutex_);
    deliver_ = nullptr;
  }

  void Break(uint64_t connect_seq, const std::string& text, BreakReason reason = BreakReason::kConnection) {
    {
      MutexLock lock(mutex_);
      if (links_.erase(connect_seq) == 0) return;
    }
    Deliver(StreamBroken{connect_seq, text, reason});
  }

  void Deliver(Event event) {
    MutexLock lock(deliver_mutex_);
    if (deliver_) deliver_(std::move(event));
  }

 private:
  void ConnectAndRead(uint64_t connect_seq, const std::shared_ptr<Link>& link);

  // Opens the socket for the datagrams that the scheduler offers. If that fails, removes the offer from the welcome.
  // Agents that report more often than kCrowdInterval are few, so the kernel may look for a dead scheduler more often.
  void TakeOffer(Link& link, v1::Welcome& welcome) {
    const std::optional<GrpcPeer> scheduler = ParseGrpcPeer(link.stream.peer());
    const bool are_few = absl::Milliseconds(welcome.heartbeat_interval_ms()) < kCrowdInterval;
    if (scheduler && are_few) SetDeadPeerDetectionTowards({scheduler->address}, scheduler->port, Crowd::kFew);
    if (!welcome.has_datagrams()) return;
    std::shared_ptr<HeartbeatSocket> socket =
        scheduler ? HeartbeatSocket::Open(*scheduler, welcome.datagrams()) : nullptr;
    if (socket == nullptr) return welcome.clear_datagrams();
    MutexLock lock(mutex_);
    link.heartbeat_socket = std::move(socket);
  }

  std::shared_ptr<Link> Find(uint64_t connect_seq) {
    MutexLock lock(mutex_);
    const auto found = links_.find(connect_seq);
    return found == links_.end() ? nullptr : found->second;
  }
  bool IsPresent(uint64_t connect_seq) { return Find(connect_seq) != nullptr; }

  const SessionOptions options_;

  Mutex deliver_mutex_;  // never held together with mutex_
  std::function<void(Event)> deliver_ ABSL_GUARDED_BY(deliver_mutex_);

  Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Link>> links_ ABSL_GUARDED_BY(mutex_);  // open or being opened, by connect_seq
  std::vector<std::shared_ptr<Link>> ending_ ABSL_GUARDED_BY(mutex_);        // hung up and not over yet
  std::atomic<int> shut_out_ = 0;    // dials in a row that were shut out, as kShutOutText says
  std::atomic<int> plain_cuts_ = 0;  // dials in a row over plain text that were closed unanswered
};

void Session::Impl::ConnectAndRead(uint64_t connect_seq, const std::shared_ptr<Link>& link) {
  ConnectOptions connect;
  connect.host = options_.host;
  connect.port = options_.port;
  connect.timeout = options_.connect_timeout;
  connect.turn_timeout = options_.turn_timeout;
  connect.on_waiting = [this, connect_seq] { Deliver(DialWaits{connect_seq}); };
  connect.is_cancelled = [this, connect_seq, &link] {
    return !IsPresent(connect_seq) || !link->handshake_result->refusal().ok();
  };
  connect.security = options_.security;
  connect.job_id = options_.job_id;
  connect.handshake_result = link->handshake_result;
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = Connect(connect);
  if (!channel.ok()) {
    if (const TlsRefusal refusal = link->handshake_result->refusal(); !refusal.ok()) {
      return Break(connect_seq, refusal.text, BreakReason::kSecurity);
    }
    return Break(connect_seq, std::string(channel.status().message()),
                 absl::IsPermissionDenied(channel.status()) ? BreakReason::kSecurity : BreakReason::kConnection);
  }
  {
    MutexLock lock(mutex_);
    if (links_.find(connect_seq) == links_.end()) return;
    link->channel = *channel;
  }
  bool was_answered = false;
  const grpc::Status status = link->stream.Run(*channel, [&](v1::SchedulerMessage message) {
    was_answered = true;
    if (message.has_welcome()) TakeOffer(*link, *message.mutable_welcome());
    if (IsPresent(connect_seq)) Deliver(MessageReceived{connect_seq, std::move(message)});
  });
  const TlsRefusal refusal = connect.handshake_result->refusal();
  if (!refusal.ok()) return Break(connect_seq, refusal.text, BreakReason::kSecurity);
  // "Shut out" means: the scheduler has completed the TLS handshake and then closed the connection without an answer. A
  // scheduler that refuses our certificate does so.
  // RESOURCE_EXHAUSTED comes with a reason, from the scheduler, or from this process if it could start no thread.
  const bool has_said_why = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  const bool is_shut_out = connect.handshake_result->was_asked() && !was_answered && !has_said_why;
  shut_out_ = is_shut_out ? shut_out_ + 1 : 0;
  if (is_shut_out && shut_out_ >= kShutOuts) return Break(connect_seq, kShutOutText, BreakReason::kSecurity);
  const bool may_want_tls = options_.security.tls == nullptr && !was_answered;
  plain_cuts_ = may_want_tls && IsClosed(status.error_message()) ? plain_cuts_ + 1 : 0;
  Break(connect_seq, plain_cuts_ >= kCutsBeforeHint ? PlainCutsInWords() : EndInWords(status, may_want_tls));
}

void Session::Impl::FetchPeers(const std::string& job_id, const agent::FetchPeers& request) {
  std::shared_ptr<grpc::Channel> channel;
  {
    MutexLock lock(mutex_);
    if (const auto found = links_.find(request.connect_seq); found != links_.end()) channel = found->second->channel;
  }
  const auto fail = [&](const absl::Status& status) { Deliver(PeersFetched{request.round, status, nullptr}); };
  if (channel == nullptr) return fail(absl::UnavailableError("there is no connection"));
  grpc::ClientContext context;
  context.set_deadline(GrpcDeadline(options_.request_timeout));
  v1::GetPeersRequest message;
  message.set_job_id(job_id);
  message.set_run(request.run);
  message.set_round(request.round);
  v1::GetPeersReply reply;
  const grpc::Status status = v1::Rendezvous::NewStub(channel)->GetPeers(&context, message, &reply);
  if (!status.ok()) {
    return fail(absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()));
  }
  auto list = std::make_shared<std::string>(std::move(*reply.mutable_peer_list()));
  if (Sha256(*list) != request.digest) {
    return fail(absl::DataLossError("the peer list does not have the announced digest"));
  }
  Deliver(PeersFetched{request.round, absl::OkStatus(), std::move(list)});
}

Session::Session(SessionOptions options, std::function<void(Event)> deliver)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(deliver))), workers_(std::make_unique<Workers>()) {}

Session::~Session() { Close(absl::ZeroDuration()); }

void Session::Dial(uint64_t connect_seq, bool is_replacement) {
  const absl::Status started = workers_->Start(
      [impl = impl_, link = impl_->Dial(connect_seq, is_replacement), connect_seq] { impl->Run(connect_seq, link); });
  if (!started.ok()) impl_->Break(connect_seq, std::string(started.message()));
}

void Session::Send(uint64_t connect_seq, v1::AgentMessage message) { impl_->Send(connect_seq, std::move(message)); }

void Session::HangUp(uint64_t connect_seq) { impl_->HangUp(connect_seq); }

void Session::FetchPeers(const std::string& job_id, const agent::FetchPeers& request) {
  const absl::Status started = workers_->Start([impl = impl_, job_id, request] { impl->FetchPeers(job_id, request); });
  if (!started.ok()) impl_->Deliver(PeersFetched{request.round, started, nullptr});
}

std::shared_ptr<grpc::Channel> Session::channel() const { return impl_->channel(); }

std::shared_ptr<HeartbeatSocket> Session::heartbeat_socket(uint64_t connect_seq) const {
  return impl_->heartbeat_socket(connect_seq);
}

void Session::CheckPeer() { impl_->CheckPeer(); }

void Session::Close(absl::Duration timeout) {
  impl_->HangUp(0);
  if (!workers_->WaitUntilIdle(timeout)) {
    impl_->CancelEnding();
    workers_->WaitUntilIdle(kCancelTime);
  }
  workers_->LetGo();
  impl_->DeliverNothingMore();
}

}  // namespace muster::agent
