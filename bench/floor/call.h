// One call on the floor server: it reads bytes and sends canned bytes. It answers the first message with a welcome and
// an assignment, and each later one with an acknowledgement. It parses nothing and knows nothing about the clients.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>

#include <deque>
#include <functional>
#include <string>

#include "bench/floor/canned.h"

namespace muster::bench {

// The state that all calls share. Owns nothing.
struct Floor {
  grpc::AsyncGenericService& service;
  const Canned& canned;
  std::function<void(const std::string& grpc_peer)> note_call;
};

// Belongs to the one thread that drains its queue, and deletes itself when gRPC is done with it.
class Call {
 public:
  enum class Op { kCame, kRead, kWritten, kFinished };
  struct Tag {
    Call* call = nullptr;
    Op op = Op::kCame;
  };

  // Waits for the next call on this queue.
  static void Await(const Floor& floor, grpc::ServerCompletionQueue& queue);

  void On(Op op, bool ok);

 private:
  Call(const Floor& floor, grpc::ServerCompletionQueue& queue);
  void Read();
  void Write();
  void FinishIfIdle();

  const Floor& floor_;
  grpc::ServerCompletionQueue& queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  Tag came_{this, Op::kCame}, read_{this, Op::kRead}, written_{this, Op::kWritten}, finished_{this, Op::kFinished};
  grpc::ByteBuffer incoming_;
  std::deque<const grpc::ByteBuffer*> outgoing_;
  bool is_first_ = true;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_over_ = false;
};

}  // namespace muster::bench
