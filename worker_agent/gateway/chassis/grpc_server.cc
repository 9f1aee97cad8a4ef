#include "worker_agent/gateway/chassis/grpc_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_builder.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/grpc_calls.h"
#include "common/net/http2/connection_name.h"
#include "common/net/http2/relay.h"
#include "common/net/mailbox.h"
#include "common/net/poller.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"
#include "worker_agent/gateway/chassis/socket_owner.h"

namespace muster::agent {
namespace {

constexpr int kBacklog = 1024;
// Each value that a process waits for takes a stream. A JAX process waits for one value of every other node at once.
constexpr int kMaxStreams = 4096;
constexpr int kMaxMetadataBytes = 4096;                             // of a call's headers, after decompression
constexpr absl::Duration kEndPatience = absl::Milliseconds(200);    // how long Stop waits for pending calls
constexpr absl::Duration kLastBytesTime = absl::Milliseconds(200);  // for clients to read gRPC's last bytes
constexpr absl::Duration kFlushInterval = absl::Seconds(10);

constexpr char kDetailsTrailer[] = "grpc-status-details-bin";

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// A loopback port through which this user's processes on this machine reach the server. Only one thread may use it.
class LoopbackListener {
 public:
  // `whose` is a word for messages, such as "JAX's". `poller` and `counted` must outlive this; `key` is the listener's
  // key in `poller`.
  LoopbackListener(std::string whose, Poller& poller, uint64_t key, CountedLog& counted)
      : whose_(std::move(whose)), poller_(poller), key_(key), counted_(counted) {}

  // Listens at a free port. The error names what was not available.
  absl::Status Open();
  uint16_t port() const { return own_.port; }

  // Accepts every waiting connection from this user and hands it to `take`; closes and counts the others. Call it when
  // the poller has an event of the listener, and from time to time while IsResting.
  void Admit(const std::function<void(UniqueFd client)>& take);
  // True if the last client could not be accepted because no descriptor was left.
  bool IsResting() const { return is_resting_; }

 private:
  void RestOrListen(int error);

  const std::string whose_;
  Poller& poller_;
  const uint64_t key_;
  CountedLog& counted_;
  UniqueFd listener_;
  SocketAddress own_;
  bool is_resting_ = false;
};

absl::Status LoopbackListener::Open() {
  absl::StatusOr<UniqueFd> listener =
      ListenOn(*IpAddress::Parse("127.0.0.1"), 0, kBacklog, absl::StrCat(whose_, " processes"));
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  const absl::StatusOr<SocketAddress> own = LocalEnd(listener_.get());
  if (!own.ok()) return own.status();
  own_ = *own;
  return poller_.Add(listener_.get(), EPOLLIN, key_);
}

void LoopbackListener::Admit(const std::function<void(UniqueFd client)>& take) {
  while (true) {
    SocketAddress client;
    UniqueFd socket = AcceptFrom(listener_.get(), client);
    if (!socket.is_open()) return RestOrListen(errno);
    const std::string why = WhyNotOfThisUser(client, own_);
    if (!why.empty()) {
      counted_.Note(Severity::kWarning, "gateway: not let in",
                    absl::StrCat(whose_, " gateway refused a connection: ", why));
      continue;
    }
    take(std::move(socket));
  }
}

// While no descriptor is left to accept a client, epoll would report the listener as ready without a pause. So the
// listener leaves the poller, and Admit is called from time to time instead.
void LoopbackListener::RestOrListen(int error) {
  const bool is_out = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  if (is_out == is_resting_) return;
  if (is_out) {
    Log(Severity::kWarning, absl::StrCat(whose_, " gateway can't accept another connection: ", std::strerror(error)));
    poller_.Remove(listener_.get());
    is_resting_ = true;
  } else {
    is_resting_ = !poller_.Add(listener_.get(), EPOLLIN, key_).ok();
  }
}

// One gRPC call. gRPC's threads read the request; any thread may answer it.
class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  using IndexOf = std::function<std::optional<uint32_t>(const std::string& peer)>;

  Reactor(grpc::GenericCallbackServerContext& context, GrpcService& service, const std::string& whose,
          const IndexOf& index_of)
      : context_(context), service_(service), index_of_(index_of) {
    if (service.Knows(context.method())) {
      StartRead(&buffer_);
    } else {
      Finish(grpc::Status(
          grpc::StatusCode::UNIMPLEMENTED,
          absl::StrCat("Muster's gateway for ", whose, " does not know ", context.method().substr(0, 200))));
    }
  }

  void OnReadDone(bool is_ok) override {
    // This object outlives every answer: gRPC calls OnDone only after a Finish, and only the first answer counts.
    const auto call = std::make_shared<HeldCall>(
        [this](absl::StatusOr<std::string> reply, const std::string& details) { Answer(std::move(reply), details); });
    if (!is_ok) return call->Complete(absl::CancelledError("there was no request"));
    {
      const MutexLock lock(mutex_);
      call_ = call;
    }
    service_.Handle(
        {context_.method(), BytesOf(buffer_), index_of_(context_.peer()), GrpcTimeLeft(context_.raw_deadline())}, call);
    // OnCancel comes only once, perhaps before call_ was set.
    if (context_.IsCancelled()) call->GiveUp();
  }

  void OnCancel() override {
    SharedCall call;
    {
      const MutexLock lock(mutex_);
      call = call_;
    }
    if (call != nullptr) call->GiveUp();  // otherwise OnReadDone will end it
  }

  void OnDone() override { delete this; }

 private:
  void Answer(absl::StatusOr<std::string> reply, const std::string& details) {
    if (reply.ok()) {
      const grpc::Slice slice(*reply);
      // gRPC may read the buffer after this call has returned, so it must live as long as the reactor.
      buffer_ = grpc::ByteBuffer(&slice, 1);
      return StartWriteAndFinish(&buffer_, grpc::WriteOptions(), grpc::Status::OK);
    }
    if (!details.empty()) context_.AddTrailingMetadata(kDetailsTrailer, details);
    Finish(
        grpc::Status(static_cast<grpc::StatusCode>(reply.status().raw_code()), std::string(reply.status().message())));
  }

  grpc::GenericCallbackServerContext& context_;
  GrpcService& service_;
  const IndexOf& index_of_;
  grpc::ByteBuffer buffer_;
  Mutex mutex_;
  SharedCall call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void HeldCall::Complete(absl::StatusOr<std::string> reply, const std::string& details) {
  Done done;
  std::function<void()> given_up;  // may hold a reference to this call; destroyed after the lock is released
  {
    const MutexLock lock(mutex_);
    done = std::exchange(done_, nullptr);
    given_up = std::exchange(given_up_, nullptr);
  }
  if (done) done(std::move(reply), details);
}

void HeldCall::WhenGivenUp(std::function<void()> then) {
  const MutexLock lock(mutex_);
  if (done_) given_up_ = std::move(then);
}

// Also answers the call: when the server ends, no thread runs steps any more, and gRPC waits for an answer to each
// call.
void HeldCall::GiveUp() {
  std::function<void()> given_up;
  {
    const MutexLock lock(mutex_);
    given_up = std::exchange(given_up_, nullptr);
  }
  if (given_up) given_up();
  Complete(absl::CancelledError("the caller has disconnected"));
}

class GrpcServer::Impl final : public grpc::CallbackGenericService {
 public:
  Impl(Options options, GrpcService& service, const Clock& clock);
  ~Impl() override { Stop(nullptr); }

  absl::Status Start();
  void Stop(std::function<void()> last);
  uint16_t PortAt(uint32_t index) const { return listeners_.at(index).port(); }
  Post post() const {
    return [steps = steps_](std::function<void()> step) { steps->mailbox.Push(std::move(step)); };
  }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*context, service_, options_.whose, index_of_peer_);
  }

 private:
  struct Steps {  // outlives the Impl while a call has no answer yet
    Poller poller;
    Mailbox<std::function<void()>> mailbox{[this] { poller.Wake(); }};
  };

  void BuildGrpc();
  void Run();
  void Take(UniqueFd client, uint32_t index);
  void Open(UniqueFd grpc_end);
  void Closed(uint64_t connection, const RelayEnd& end);
  std::optional<uint32_t> IndexOf(const std::string& peer) const;

  const Options options_;
  GrpcService& service_;
  const Reactor::IndexOf index_of_peer_ = [this](const std::string& peer) { return IndexOf(peer); };
  const Clock& clock_;
  const std::string client_name_;  // for people
  CountedLog counted_;
  const std::shared_ptr<Steps> steps_ = std::make_shared<Steps>();
  std::deque<LoopbackListener> listeners_;  // only the thread uses them once it runs
  bool is_ending_ = false;                  // only the thread uses it
  mutable Mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> index_of_ ABSL_GUARDED_BY(mutex_);  // by connection
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> grpc_;
  Relay relay_;
  std::thread thread_;
};

GrpcServer::Impl::Impl(Options options, GrpcService& service, const Clock& clock)
    : options_(std::move(options)),
      service_(service),
      clock_(clock),
      client_name_(absl::StrCat("a client of ", options_.whose, "'s gateway")),
      counted_(clock),
      relay_(
          {.threads = 1},
          {.on_open = [this](uint64_t, UniqueFd end, const CheckedClient*) { Open(std::move(end)); },
           .on_paused = [this](uint64_t, const FrameGuard::Breach& pause) { NotePause(counted_, client_name_, pause); },
           .on_closed = [this](uint64_t id, const RelayEnd& end) { Closed(id, end); }},
          clock) {}

absl::Status GrpcServer::Impl::Start() {
  if (!steps_->poller.status().ok()) return steps_->poller.status();
  for (uint32_t index = 0; index < options_.ports; ++index) {
    LoopbackListener& listener = listeners_.emplace_back(options_.whose + "'s", steps_->poller, index, counted_);
    if (absl::Status opened = listener.Open(); !opened.ok()) return opened;
  }
  BuildGrpc();
  if (grpc_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("gRPC can't start a server for ", options_.whose, "'s processes"));
  }
  if (absl::Status started = relay_.Start(); !started.ok()) return started;
  absl::StatusOr<std::thread> thread = TryThread([this] {
    pthread_setname_np(pthread_self(), options_.thread.c_str());
    Run();
  });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void GrpcServer::Impl::BuildGrpc() {
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(this);
  builder.SetMaxReceiveMessageSize(options_.max_request_bytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // measures bandwidth: useless over loopback
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.SetResourceQuota(grpc::ResourceQuota(options_.thread).Resize(options_.most_bytes));
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  grpc_ = builder.BuildAndStart();
}

void GrpcServer::Impl::Stop(std::function<void()> last) {
  if (thread_.joinable()) {
    steps_->mailbox.Push([this, last = std::move(last)] {
      if (last) last();
      is_ending_ = true;
    });
    thread_.join();
  }
  if (grpc_ != nullptr) grpc_->Shutdown(GrpcDeadline(kEndPatience));
  grpc_.reset();                     // no call is left
  relay_.AwaitNone(kLastBytesTime);  // gRPC has closed all its ends; its last bytes are on their way
  relay_.Stop();
  steps_->mailbox.Close();
  counted_.Flush();
}

void GrpcServer::Impl::Run() {
  MonotonicTime last_flush = clock_.Read().monotonic;
  while (!is_ending_) {
    bool is_resting = false;
    for (const LoopbackListener& listener : listeners_) is_resting |= listener.IsResting();
    const auto events = steps_->poller.Wait(service_.IsBusy() || is_resting ? options_.tick : absl::InfiniteDuration());
    if (!events.empty() || is_resting) {
      for (uint32_t index = 0; index < listeners_.size(); ++index) {
        listeners_[index].Admit([&](UniqueFd client) { Take(std::move(client), index); });
      }
    }
    service_.Turn([this] {
      for (const std::function<void()>& step : steps_->mailbox.TakeAll()) step();
    });
    if (const MonotonicTime now = clock_.Read().monotonic; now - last_flush >= kFlushInterval) {
      last_flush = now;
      counted_.Flush();
    }
  }
}

// If there is no room, closes the new connection: an older one may belong to a process that needs it for its whole
// life.
void GrpcServer::Impl::Take(UniqueFd client, uint32_t index) {
  const uint64_t connection = NewConnection();
  bool has_room = false;
  {
    const MutexLock lock(mutex_);
    has_room = index_of_.size() < options_.most_connections;
    if (has_room) index_of_[connection] = index;
  }
  if (has_room) return relay_.Add(connection, std::move(client), nullptr);
  counted_.Note(Severity::kWarning, "gateway: too many connections",
                absl::StrCat("closed a connection of ", client_name_, ": ", options_.most_connections,
                             " are open already; find the process of this user that opens so many"));
}

void GrpcServer::Impl::Open(UniqueFd grpc_end) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = grpc_end.release();
  acceptor_->HandleNewConnection(&connection);
}

void GrpcServer::Impl::Closed(uint64_t connection, const RelayEnd& end) {
  {
    const MutexLock lock(mutex_);
    index_of_.erase(connection);
  }
  NoteEnd(counted_, client_name_, end);
}

std::optional<uint32_t> GrpcServer::Impl::IndexOf(const std::string& peer) const {
  const MutexLock lock(mutex_);
  const auto found = index_of_.find(ConnectionOf(peer));
  return found == index_of_.end() ? std::nullopt : std::optional<uint32_t>(found->second);
}

GrpcServer::GrpcServer(Options options, GrpcService& service, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), service, clock)) {}
GrpcServer::~GrpcServer() = default;

absl::Status GrpcServer::Start() { return impl_->Start(); }
void GrpcServer::Stop(std::function<void()> last) { impl_->Stop(std::move(last)); }
uint16_t GrpcServer::PortAt(uint32_t index) const { return impl_->PortAt(index); }
Post GrpcServer::post() const { return impl_->post(); }

}  // namespace muster::agent
