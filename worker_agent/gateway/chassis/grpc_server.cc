#include "worker_agent/gateway/chassis/grpc_server.h"

#include <grpcpp/grpcpp.h>
#include <pthread.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/grpc_calls.h"
#include "common/net/http2/connection_name.h"
#include "common/sys/threads.h"

namespace muster::agent {
namespace {

// One for each value that a process waits for; JAX waits for one of every other node at once.
constexpr int kMostStreams = 4096;
constexpr int kMostMetadataBytes = 4096;                            // of a call's headers, unpacked
constexpr absl::Duration kEndPatience = absl::Milliseconds(200);    // for calls
constexpr absl::Duration kLastBytesTime = absl::Milliseconds(200);  // for clients to take gRPC's last words
constexpr absl::Duration kFlushInterval = absl::Seconds(10);

}  // namespace

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

GrpcServer::GrpcServer(Options options, grpc::CallbackGenericService& service, Hooks hooks, const Clock& clock)
    : options_(std::move(options)),
      service_(service),
      hooks_(std::move(hooks)),
      clock_(clock),
      client_name_(absl::StrCat("a client of ", options_.whose, " gateway")),
      counted_(clock),
      relay_(
          {.threads = 1},
          {.on_open = [this](uint64_t, UniqueFd end, const CheckedClient*) { Open(std::move(end)); },
           .on_paused = [this](uint64_t, const FrameGuard::Breach& pause) { NotePause(counted_, client_name_, pause); },
           .on_closed = [this](uint64_t id, const RelayEnd& end) { Closed(id, end); }},
          clock) {}

GrpcServer::~GrpcServer() { Stop(nullptr); }

absl::Status GrpcServer::Start() {
  if (!steps_->poller.status().ok()) return steps_->poller.status();
  for (uint32_t index = 0; index < options_.ports; ++index) {
    GrpcDoor& door = doors_.emplace_back(options_.whose, steps_->poller, index, counted_);
    if (absl::Status opened = door.Open(); !opened.ok()) return opened;
  }
  BuildGrpc();
  if (grpc_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("gRPC has no server for ", options_.whose, " processes"));
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

void GrpcServer::BuildGrpc() {
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service_);
  builder.SetMaxReceiveMessageSize(options_.most_request_bytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // over loopback there is nothing to measure
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  builder.SetResourceQuota(grpc::ResourceQuota(options_.thread).Resize(options_.most_bytes));
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  grpc_ = builder.BuildAndStart();
}

void GrpcServer::Stop(std::function<void()> last) {
  if (thread_.joinable()) {
    steps_->mailbox.Push([this, last = std::move(last)] {
      if (last) last();
      is_ending_ = true;
    });
    thread_.join();
  }
  if (grpc_ != nullptr) grpc_->Shutdown(GrpcDeadline(kEndPatience));
  grpc_.reset();                     // no call is left
  relay_.AwaitNone(kLastBytesTime);  // gRPC has closed all its ends; its last words are on their way
  relay_.Stop();
  steps_->mailbox.Close();
  counted_.Flush();
}

void GrpcServer::Run() {
  MonotonicTime last_flush = clock_.Read().monotonic;
  while (!is_ending_) {
    bool is_resting = false;
    for (const GrpcDoor& door : doors_) is_resting |= door.IsResting();
    const auto events = steps_->poller.Wait(hooks_.is_busy() || is_resting ? options_.tick : absl::InfiniteDuration());
    if (!events.empty() || is_resting) {
      for (uint32_t index = 0; index < doors_.size(); ++index) {
        doors_[index].Admit([&](UniqueFd client) { Take(std::move(client), index); });
      }
    }
    hooks_.turn([this] {
      for (const std::function<void()>& step : steps_->mailbox.TakeAll()) step();
    });
    if (const MonotonicTime now = clock_.Read().monotonic; now - last_flush >= kFlushInterval) {
      last_flush = now;
      counted_.Flush();
    }
  }
}

// An older connection may be a process's that lives as long as it, so the newest one makes way.
void GrpcServer::Take(UniqueFd client, uint32_t index) {
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
                             " are open: see which process of this user opens so many"));
}

void GrpcServer::Open(UniqueFd grpc_end) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = grpc_end.release();
  acceptor_->HandleNewConnection(&connection);
}

void GrpcServer::Closed(uint64_t connection, const RelayEnd& end) {
  {
    const MutexLock lock(mutex_);
    index_of_.erase(connection);
  }
  NoteEnd(counted_, client_name_, end);
}

std::optional<uint32_t> GrpcServer::IndexOf(const std::string& peer) const {
  const MutexLock lock(mutex_);
  const auto found = index_of_.find(ConnectionOf(peer));
  return found == index_of_.end() ? std::nullopt : std::optional<uint32_t>(found->second);
}

}  // namespace muster::agent
