// One node of a peer, as peer_load drives it: it forms a round together with all the others and then sends heartbeats.
// Every node has a connection of its own, over the gRPC library that Muster's own load generator uses.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace muster::bench {

using Clock = std::chrono::steady_clock;

// The counts of all nodes, to which gRPC's threads add.
class Tally {
 public:
  void Formed() { ++formed_; }
  void Failed(const std::string& why);
  void Answered(Clock::time_point sent);

  int formed() const { return formed_; }
  int failed() const { return failed_; }
  std::vector<double> answers_ms() const;

 private:
  mutable std::mutex mutex_;
  std::vector<double> answers_ms_;
  std::atomic<int> formed_ = 0;
  std::atomic<int> failed_ = 0;
};

class Node {
 public:
  virtual ~Node() = default;
  // Joins. Calls the tally's Formed() once it holds its place, or Failed(). Called once.
  virtual void Join() = 0;
  // Called after Formed(): sends one heartbeat, unless the last one is still unanswered.
  virtual void Beat() = 0;
  // Ends the calls in progress. Afterwards it does not touch the tally.
  virtual void Leave() = 0;
};

using Bytes = std::string;

// One connection: calls methods by name with serialised messages. Callbacks come from gRPC's threads.
class Connection {
 public:
  explicit Connection(const std::string& target, grpc_compression_algorithm compression = GRPC_COMPRESS_NONE);
  // `done` gets the answer, or the error.
  void Call(const std::string& method, const Bytes& request, std::function<void(grpc::Status, Bytes)> done);

  // A stream in both directions, with one message in progress at a time.
  class Stream;
  std::shared_ptr<Stream> Open(const std::string& method, std::function<void(Bytes)> on_message,
                               std::function<void(grpc::Status)> on_end);

 private:
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub_;
};

class Connection::Stream {
 public:
  virtual ~Stream() = default;
  virtual void Send(const Bytes& message) = 0;  // the last message has been answered, or this is the first
  virtual void Cancel() = 0;
};

// The size of a node's description of itself in its join: the same as for an agent of Muster.
inline constexpr int kNodeInfoBytes = 200;

// The nodes 0 to `count` - 1 of one round.
std::vector<std::unique_ptr<Node>> EtcdNodes(const std::string& target, int count, Tally* tally);
std::vector<std::unique_ptr<Node>> TorchftNodes(const std::string& target, int count, Tally* tally);
std::vector<std::unique_ptr<Node>> JaxNodes(const std::string& target, int count, Tally* tally);

}  // namespace muster::bench
