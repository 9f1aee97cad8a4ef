#include <cstdio>
#include <utility>

#include "bench/peers/peer_node.h"

namespace muster::bench {
namespace {

grpc::ByteBuffer ToBuffer(const Bytes& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

Bytes FromBuffer(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  Bytes out;
  if (!buffer.Dump(&slices).ok()) return out;
  for (const grpc::Slice& slice : slices) out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return out;
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target, grpc_compression_algorithm compression) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // otherwise all nodes would share one connection
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetCompressionAlgorithm(compression);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

struct Unary {
  grpc::ClientContext context;
  grpc::ByteBuffer request, answer;
};

using Reactor = grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Owns itself until gRPC has made its last callback.
class LiveStream : public Connection::Stream, public Reactor, public std::enable_shared_from_this<LiveStream> {
 public:
  LiveStream(std::function<void(Bytes)> on_message, std::function<void(grpc::Status)> on_end)
      : on_message_(std::move(on_message)), on_end_(std::move(on_end)) {}

  void Start() {
    self_ = shared_from_this();
    StartRead(&answer_);
    StartCall();
  }
  grpc::ClientContext* context() { return &context_; }

  void Send(const Bytes& message) override {
    request_ = ToBuffer(message);
    StartWrite(&request_);
  }
  void Cancel() override { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    on_message_(FromBuffer(answer_));
    answer_.Clear();
    StartRead(&answer_);
  }
  void OnDone(const grpc::Status& status) override {
    on_end_(status);
    self_.reset();
  }

 private:
  const std::function<void(Bytes)> on_message_;
  const std::function<void(grpc::Status)> on_end_;
  std::shared_ptr<LiveStream> self_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, answer_;
};

}  // namespace

void Tally::Failed(const std::string& why) {
  if (failed_++ == 0) fprintf(stderr, "peer_load: the first failure: %s\n", why.c_str());
}

void Tally::Answered(Clock::time_point sent) {
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - sent).count();
  const std::lock_guard<std::mutex> lock(mutex_);
  answers_ms_.push_back(ms);
}

std::vector<double> Tally::answers_ms() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return answers_ms_;
}

Connection::Connection(const std::string& target, grpc_compression_algorithm compression)
    : stub_(MakeChannel(target, compression)) {}

void Connection::Call(const std::string& method, const Bytes& request, std::function<void(grpc::Status, Bytes)> done) {
  auto call = std::make_shared<Unary>();
  call->context.set_wait_for_ready(true);
  call->request = ToBuffer(request);
  stub_.UnaryCall(&call->context, method, grpc::StubOptions(), &call->request, &call->answer,
                  [call, done = std::move(done)](grpc::Status status) { done(status, FromBuffer(call->answer)); });
}

std::shared_ptr<Connection::Stream> Connection::Open(const std::string& method, std::function<void(Bytes)> on_message,
                                                     std::function<void(grpc::Status)> on_end) {
  auto stream = std::make_shared<LiveStream>(std::move(on_message), std::move(on_end));
  stream->context()->set_wait_for_ready(true);
  stub_.PrepareBidiStreamingCall(stream->context(), method, grpc::StubOptions(), stream.get());
  stream->Start();
  return stream;
}

}  // namespace muster::bench
