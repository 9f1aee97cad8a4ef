#include "worker_agent/session/session.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/connection_error.h"
#include "common/mutex.h"
#include "worker_agent/launch/sha256.h"
#include "worker_agent/session/channel.h"
#include "worker_agent/session/stream.h"
#include "worker_agent/session/workers.h"

namespace muster::agent {
namespace {

// Within it, what was cancelled and what is still connecting ends.
constexpr absl::Duration kCancelTime = absl::Seconds(1);
constexpr int kShutOuts = 5;
constexpr char kShutOutText[] =
    "it closes the connection right after each TLS handshake, so it does not take this node's certificate; why is in "
    "the "
    "scheduler's log and in `ms-ctl counters`";

std::string EndInWords(const grpc::Status& status) {
  if (status.ok()) return "the scheduler ended the connection";
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::StrCat("what answers there is no ms-scheduler (", status.error_message(), ")");
  }
  if (IsAnotherServer(status.error_message())) {
    return "it answers, but is no ms-scheduler: is MS_SCHED_PORT right?";
  }
  return ConnectionErrorInWords(status.error_message());
}

}  // namespace

// Shared with the threads that connect and read: resolving a name can't be interrupted, so they may outlive the
// session.
class Session::Impl : public std::enable_shared_from_this<Session::Impl> {
 public:
  Impl(SessionOptions options, std::function<void(Event)> deliver)
      : options_(std::move(options)), deliver_(std::move(deliver)) {}

  // The stream that is now open or being opened; what was open before ends at once.
  std::shared_ptr<Stream> Dial(uint64_t connect_seq) {
    auto stream = std::make_shared<Stream>();
    std::shared_ptr<Stream> old;
    {
      MutexLock lock(mutex_);
      old = std::exchange(stream_, stream);
      connect_seq_ = connect_seq;
      channel_ = nullptr;
    }
    if (old != nullptr) old->Cancel();
    return stream;
  }

  // In a thread of its own: connects, and stays with the stream until it is over.
  void Run(uint64_t connect_seq, const std::shared_ptr<Stream>& stream) {
    ConnectAndRead(connect_seq, stream);
    MutexLock lock(mutex_);
    if (ending_ == stream) ending_ = nullptr;  // it would keep the connection open
  }

  void Send(uint64_t connect_seq, v1::AgentMessage message) {
    std::shared_ptr<Stream> stream;
    {
      MutexLock lock(mutex_);
      if (connect_seq != connect_seq_) return;
      stream = stream_;
    }
    if (stream != nullptr) stream->Send(std::move(message));
  }

  void HangUp() {
    MutexLock lock(mutex_);
    connect_seq_ = 0;
    channel_ = nullptr;
    if (stream_ == nullptr) return;
    stream_->HangUp();
    ending_ = std::exchange(stream_, nullptr);
  }

  void CheckPeer() {
    if (options_.security.tls == nullptr) return;
    MutexLock lock(mutex_);
    if (stream_ == nullptr || verdict_ == nullptr) return;
    if (!verdict_->IsStillGood(*options_.security.tls->Current()->trust)) stream_->Cancel();  // its thread says why
  }

  std::shared_ptr<grpc::Channel> channel() {
    MutexLock lock(mutex_);
    return channel_;
  }

  // What was hung up last need not end in good order any more.
  void CancelEnding() {
    MutexLock lock(mutex_);
    if (ending_ != nullptr) ending_->Cancel();
  }

  // In a thread of its own.
  void FetchPeers(const std::string& job_id, const agent::FetchPeers& request);

  void DeliverNothingMore() {
    MutexLock lock(deliver_mutex_);
    deliver_ = nullptr;
  }

 private:
  void ConnectAndRead(uint64_t connect_seq, const std::shared_ptr<Stream>& stream);

  bool IsPresent(uint64_t connect_seq) {
    MutexLock lock(mutex_);
    return connect_seq_ == connect_seq;
  }

  void Break(uint64_t connect_seq, const std::string& reason, bool is_security = false) {
    {
      MutexLock lock(mutex_);
      if (connect_seq_ != connect_seq) return;
      connect_seq_ = 0;
      stream_ = nullptr;
      channel_ = nullptr;
    }
    Deliver(StreamBroken{connect_seq, reason, is_security});
  }

  void Deliver(Event event) {
    MutexLock lock(deliver_mutex_);
    if (deliver_) deliver_(std::move(event));
  }

  const SessionOptions options_;

  Mutex deliver_mutex_;  // never held together with mutex_
  std::function<void(Event)> deliver_ ABSL_GUARDED_BY(deliver_mutex_);

  Mutex mutex_;
  uint64_t connect_seq_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: nothing is open or being opened
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Stream> ending_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<HandshakeVerdict> verdict_ ABSL_GUARDED_BY(mutex_);  // of that channel
  std::atomic<int> shut_out_ = 0;                                      // dials in a row
};

void Session::Impl::ConnectAndRead(uint64_t connect_seq, const std::shared_ptr<Stream>& stream) {
  ConnectOptions connect;
  connect.host = options_.host;
  connect.port = options_.port;
  connect.timeout = options_.connect_timeout;
  connect.is_cancelled = [this, connect_seq] { return !IsPresent(connect_seq); };
  connect.security = options_.security;
  connect.job_id = options_.job_id;
  connect.verdict = std::make_shared<HandshakeVerdict>();
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = Connect(connect);
  if (!channel.ok()) {
    return Break(connect_seq, std::string(channel.status().message()), absl::IsPermissionDenied(channel.status()));
  }
  {
    MutexLock lock(mutex_);
    if (connect_seq_ != connect_seq) return;
    channel_ = *channel;
    verdict_ = connect.verdict;
  }
  bool was_answered = false;
  const grpc::Status status = stream->Run(*channel, [&](v1::SchedulerMessage message) {
    was_answered = true;
    if (IsPresent(connect_seq)) Deliver(MessageReceived{connect_seq, std::move(message)});
  });
  const TlsRefusal refusal = connect.verdict->refusal();
  if (!refusal.ok()) return Break(connect_seq, refusal.text, true);
  // It has taken our handshake and then hung up, without a word: so does a scheduler that refuses our certificate.
  const bool is_shut_out = connect.verdict->was_asked() && !was_answered;
  shut_out_ = is_shut_out ? shut_out_ + 1 : 0;
  if (is_shut_out && shut_out_ >= kShutOuts) return Break(connect_seq, kShutOutText, true);
  Break(connect_seq, EndInWords(status));
}

void Session::Impl::FetchPeers(const std::string& job_id, const agent::FetchPeers& request) {
  std::shared_ptr<grpc::Channel> channel;
  {
    MutexLock lock(mutex_);
    channel = channel_;
  }
  const auto fail = [&](const absl::Status& status) { Deliver(PeersFetched{request.round, status, nullptr}); };
  if (channel == nullptr) return fail(absl::UnavailableError("there is no connection"));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(options_.request_timeout));
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

void Session::Dial(uint64_t connect_seq) {
  workers_->Start([impl = impl_, stream = impl_->Dial(connect_seq), connect_seq] { impl->Run(connect_seq, stream); });
}

void Session::Send(uint64_t connect_seq, v1::AgentMessage message) { impl_->Send(connect_seq, std::move(message)); }

void Session::HangUp() { impl_->HangUp(); }

void Session::FetchPeers(const std::string& job_id, const agent::FetchPeers& request) {
  workers_->Start([impl = impl_, job_id, request] { impl->FetchPeers(job_id, request); });
}

std::shared_ptr<grpc::Channel> Session::channel() const { return impl_->channel(); }

void Session::CheckPeer() { impl_->CheckPeer(); }

void Session::Close(absl::Duration timeout) {
  impl_->HangUp();
  if (!workers_->WaitUntilIdle(timeout)) {
    impl_->CancelEnding();
    workers_->WaitUntilIdle(kCancelTime);
  }
  workers_->LetGo();
  impl_->DeliverNothingMore();
}

}  // namespace muster::agent
