#include "scheduler/rpc/server.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/net/grpc_start.h"
#include "common/net/http2/connection_name.h"
#include "common/net/http2/relay.h"
#include "common/net/net.h"
#include "scheduler/frontend/effect_sink.h"
#include "scheduler/frontend/store_calls.h"
#include "scheduler/frontend/sweeper.h"
#include "scheduler/ingress/acceptor.h"
#include "scheduler/ingress/grpc/call_watch.h"
#include "scheduler/ingress/grpc/grpc_limits.h"
#include "scheduler/ingress/grpc/poller_waker.h"
#include "scheduler/rpc/services.h"
#include "scheduler/rpc/validation.h"

namespace muster::scheduler {
namespace {

constexpr int kMaxStreamsPerConnection = 64;
constexpr size_t kReservedDescriptors = 64;                         // descriptors that connections may not use
constexpr absl::Duration kLastBytesTime = absl::Milliseconds(500);  // for clients to read gRPC's last messages
// Without TLS the relay has one thread for this many CPU cores: fewer threads wake up less often, and do more each
// time.
constexpr unsigned int kCoresOfAPlainRelay = 4;
constexpr int kMaxReflectionThreads = 16;  // reflection is the only service that uses a thread for each call
constexpr absl::Duration kMemoryLookInterval = absl::Seconds(1);
constexpr absl::Duration kWakeInterval = absl::Milliseconds(400);  // usually every second pass of the sweeper
constexpr int kIdleConnectionMs = 60'000;  // close a connection without a call after this time; the peer may reconnect

// Hides log messages of gRPC and protobuf, which are meant for developers. Our own messages about the same problems
// give advice, and are counted.
void QuietLibraries() {
  QuietProtobuf();
  gpr_set_log_function([](gpr_log_func_args* args) { Log(Severity::kDebug, absl::StrCat("grpc: ", args->message)); });
}

std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> AddAcceptor(grpc::ServerBuilder& builder) {
  return builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
}

void HandToGrpc(grpc::experimental::ExternalConnectionAcceptor& acceptor, UniqueFd fd) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd.release();
  acceptor.HandleNewConnection(&connection);
}

}  // namespace

size_t DescriptorsForConnections(size_t descriptor_limit) {
  return descriptor_limit - std::min(descriptor_limit / 2, kReservedDescriptors);
}

// Returns how many streams that have not joined may be open. Each may take the memory of one message. All of them
// together may take a quarter of memory_limit: once gRPC has used the whole limit, it breaks off calls of any client.
size_t MostUnjoined(const RpcServer::Options& options) {
  constexpr size_t kLeast = 64;
  return std::min(options.most_unjoined, std::max(kLeast, options.memory_limit / 4 / kMaxSessionMessageBytes));
}

class RpcServer::Impl {
 public:
  Impl(Options options, const Authorizer& authorizer, const Clock& clock, CountedLog& counted,
       std::function<void(const RunSettled&)> on_settled)
      : options_(std::move(options)),
        clock_(clock),
        counted_(counted),
        streams_(MostUnjoined(options_)),
        queries_(options_.max_queries),
        replies_(options_.reply_bytes),
        store_replies_(options_.reply_bytes),
        sink_(streams_, queries_, rounds_, counted, std::move(on_settled)),
        services_{nullptr,
                  clock,
                  counted,
                  authorizer,
                  peers_,
                  streams_,
                  queries_,
                  rounds_,
                  replies_,
                  store_replies_,
                  options_.join_limit,
                  options_.close_limit,
                  options_.query_limit,
                  options_.reply_limit,
                  options_.why_full,
                  options_.tls_store},
        store_calls_(services_, options_.max_store_calls, options_.max_store_call_bytes) {
    sink_.SetStoreCalls(&store_calls_);
    if (options_.datagrams.empty()) return;
    datagrams_ = std::make_unique<DatagramPort>(std::move(options_.datagrams), options_.tls != nullptr, counted);
    services_.datagrams = datagrams_.get();
  }

  EffectSink& sink() { return sink_; }

  absl::Status Start(PostEvent post) {
    services_.post = std::move(post);
    QuietLibraries();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    session_service_ = MakeSessionService(services_);
    admin_service_ = MakeAdminService(services_);
    store_service_ = MakeStoreService(services_, store_calls_);

    grpc::ServerBuilder builder;
    Configure(builder);
    builder.RegisterService(session_service_.get());
    builder.RegisterService(admin_service_.get());
    builder.RegisterService(store_service_.get());
    tcp_ = AddAcceptor(builder);
    unix_ = AddAcceptor(builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC could not start its server");
    if (absl::Status status = CheckServerThreads(); !status.ok()) {
      static_cast<void>(server_.release());  // don't shut it down: that would wait for threads that don't exist
      return status;
    }
    relay_ = MakeRelay();
    if (absl::Status started = relay_->Start(); !started.ok()) return started;
    acceptor_ = MakeAcceptor();
    if (datagrams_ != nullptr) {
      absl::Status started = datagrams_->Start([this](HeartbeatReceived heartbeat, std::function<void()> applied) {
        if (!CheckReport(heartbeat.progress).ok()) heartbeat.progress.Clear();
        services_.post(std::move(heartbeat), std::move(applied));
      });
      if (!started.ok()) return started;
    }
    if (absl::Status started = sweeper_.Start([this] { Sweep(); }); !started.ok()) return started;
    call_watch_->Attach([this](const std::string& peer) { acceptor_->NoteCall(ConnectionOf(peer)); });
    services_.note_joined = [this](uint64_t connection) { acceptor_->NoteJoined(connection); };
    services_.note_left = [this](uint64_t connection) { acceptor_->NoteLeft(connection); };
    return acceptor_->Start();  // comes last, because connections use everything that was started above
  }

  const ServiceContext& services() const { return services_; }

  void StopServing() {
    if (server_ != nullptr) server_->GetHealthCheckService()->SetServingStatus(false);
  }

  void CheckPeers() {
    for (const auto& stream : streams_.All()) stream->CheckPeer();
  }

  bool AwaitNoStreams(absl::Duration timeout) const { return streams_.AwaitEmpty(timeout); }

  void Shutdown(absl::Duration grace) {
    if (server_ == nullptr) return;
    acceptor_->Stop();
    if (datagrams_ != nullptr) datagrams_->Stop();
    queries_.Close();
    store_calls_.Close();
    for (const auto& stream : streams_.All()) stream->CloseForShutdown();
    // (gRPC takes the deadline as a time of the wall clock.)
    server_->Shutdown(absl::ToChronoTime(absl::FromUnixMillis(clock_.Read().wall.unix_ms) + grace));
    sweeper_.Stop();
    server_.reset();
    relay_->AwaitNone(kLastBytesTime);  // gRPC has closed its connections; the relay still sends its last messages
    relay_->Stop();
    counted_.Flush();
  }

 private:
  void Configure(grpc::ServerBuilder& builder) {
    // The services check the sizes of messages with their own, lower limits, and log those that are too large.
    // gRPC 1.51 checks its limit only after the whole message is in memory, and then does not inform the service. So
    // this limit only prevents that an extremely large message is parsed. The resource quota below limits the memory of
    // all messages.
    builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxReceivedBytes));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                               static_cast<int>(absl::ToInt64Milliseconds(options_.handshake_limit)));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleConnectionMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // see worker_agent/session/channel.cc
    builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBufferBytes);
    // Refuse compressed messages, because a small one could become very large.
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.SetResourceQuota(
        grpc::ResourceQuota("muster").SetMaxThreads(kMaxReflectionThreads).Resize(options_.memory_limit));
    auto watch = std::make_unique<CallWatch>();
    call_watch_ = watch.get();
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
    interceptors.push_back(std::move(watch));
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
  }

  std::unique_ptr<Acceptor> MakeAcceptor() {
    Acceptor::Options options;
    options.table.limit = options_.pending_per_core * std::max(1u, std::thread::hardware_concurrency());
    options.table.silence_limit = options_.handshake_limit;
    options.table.crowded_silence_limit = std::min(options_.handshake_limit, options.table.crowded_silence_limit);
    options.table.call_limit = options_.handshake_limit + absl::Seconds(1);  // gRPC's own limit comes first
    options.unjoined = options_.unjoined;
    options.expects_tls = options_.tls != nullptr;
    options.descriptor_bound = DescriptorsForConnections(options_.descriptor_limit);
    options.table.most_silent = std::min(options.table.most_silent, options.descriptor_bound / 8);
    options.table.most_waiting = std::min(options.table.most_waiting, options.descriptor_bound / 4 * 3);
    options.unjoined.limit = std::min(options.unjoined.limit, options.descriptor_bound / 2);
    return std::make_unique<Acceptor>(
        std::move(options_.listeners), options,
        Acceptor::Hooks{.hand_over = [this](const NamedConnection& connection,
                                            UniqueFd fd) { TakeOver(connection, std::move(fd)); },
                        .hand_over_unix = [this](UniqueFd fd) { HandToGrpc(*unix_, std::move(fd)); },
                        .cut = [this](uint64_t connection) { relay_->Cut(connection); }},
        clock_, counted_);
  }

  std::unique_ptr<Relay> MakeRelay() {
    const unsigned int cores = std::thread::hardware_concurrency();
    return std::make_unique<Relay>(
        Relay::Options{.threads = std::max(1u, options_.tls == nullptr ? cores / kCoresOfAPlainRelay : cores),
                       .handshake_limit = options_.handshake_limit},
        Relay::Hooks{
            .on_open = [this](uint64_t id, UniqueFd grpc,
                              const CheckedClient* client) { Open(id, std::move(grpc), client); },
            .on_paused = [this](uint64_t id,
                                const FrameGuard::Breach& pause) { NotePause(counted_, peers_.NameOf(id), pause); },
            .on_closed = [this](uint64_t id, const RelayEnd& end) { Closed(id, end); }},
        clock_);
  }

  // Passes a connection to the relay when its turn has come. Before the TLS handshake only its addresses are known.
  void TakeOver(const NamedConnection& connection, UniqueFd fd) {
    PeerFacts facts = FactsOf(connection.peer, nullptr, false);
    facts.reached_at = LocalEndOf(fd.get());
    if (relay_->size() < kManyConnections) SetDeadPeerDetection(fd.get(), Crowd::kFew);
    peers_.Add(connection.id, std::move(facts));  // before relay_->Add: its thread may ask for them at once
    relay_->Add(connection.id, std::move(fd), options_.tls == nullptr ? nullptr : options_.tls->Context());
  }

  void Open(uint64_t connection, UniqueFd grpc, const CheckedClient* client) {
    if (client != nullptr) {
      const bool takes_names = options_.tls_store->settings().needs_name();
      PeerFacts facts = FactsOf(peers_.NameOf(connection), client, takes_names);
      facts.reached_at = peers_.ReachedAt(connection);
      peers_.Add(connection, std::move(facts));
    }
    HandToGrpc(*tcp_, std::move(grpc));
  }

  void Closed(uint64_t connection, const RelayEnd& end) {
    const std::string peer = peers_.NameOf(connection);
    peers_.Remove(connection);
    NoteEnd(counted_, peer, end);
    acceptor_->NoteClosed(connection);
  }

  void Sweep() {
    const MonotonicTime now = clock_.Read().monotonic;
    if (now - last_wake_ >= kWakeInterval) {
      last_wake_ = now;
      waker_.Wake();
    }
    streams_.Sweep(now);
    queries_.Expire(now);
    replies_.Sweep(now);
    store_replies_.Sweep(now);
    store_calls_.Expire(now);
    memory_return_.Sweep(now);
    if (now - last_memory_look_ >= kMemoryLookInterval) {
      last_memory_look_ = now;
      if (IsShortOfMemory(options_.memory_limit)) acceptor_->Shed();
    }
    FlushLog();
    if (now - last_flush_ >= absl::Seconds(10)) {
      last_flush_ = now;
      counted_.Flush();
    }
  }

  Options options_;
  const Clock& clock_;
  CountedLog& counted_;
  StreamRegistry streams_;
  PendingQueries queries_;
  PublishedRounds rounds_;
  ReplyBudget replies_;
  ReplyBudget store_replies_;
  RpcEffectSink sink_;
  ConnectionPeers peers_;
  ServiceContext services_;
  StoreCalls store_calls_;
  std::unique_ptr<DatagramPort> datagrams_;  // null: heartbeats come over streams only
  std::unique_ptr<grpc::Service> session_service_;
  std::unique_ptr<grpc::Service> admin_service_;
  std::unique_ptr<grpc::Service> store_service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> tcp_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> unix_;
  std::unique_ptr<grpc::Server> server_;
  CallWatch* call_watch_ = nullptr;  // owned by server_
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<Relay> relay_;
  MonotonicTime last_flush_;        // used only by the sweeper's thread
  MonotonicTime last_wake_;         // used only by the sweeper's thread
  MonotonicTime last_memory_look_;  // used only by the sweeper's thread
  PollerWaker waker_;               // used only by the sweeper's thread
  MemoryReturn memory_return_;
  Sweeper sweeper_;
};

RpcServer::RpcServer(Options options, const Authorizer& authorizer, const Clock& clock, CountedLog& counted,
                     std::function<void(const RunSettled&)> on_settled)
    : impl_(std::make_unique<Impl>(std::move(options), authorizer, clock, counted, std::move(on_settled))) {}

RpcServer::~RpcServer() { impl_->Shutdown(absl::ZeroDuration()); }

EffectSink& RpcServer::sink() { return impl_->sink(); }

absl::Status RpcServer::Start(PostEvent post) { return impl_->Start(std::move(post)); }

const ServiceContext& RpcServer::services() const { return impl_->services(); }

void RpcServer::CheckPeers() { impl_->CheckPeers(); }

void RpcServer::StopServing() { impl_->StopServing(); }

bool RpcServer::AwaitNoStreams(absl::Duration timeout) const { return impl_->AwaitNoStreams(timeout); }

void RpcServer::Shutdown(absl::Duration grace) { impl_->Shutdown(grace); }

}  // namespace muster::scheduler
