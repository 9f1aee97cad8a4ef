// One Session stream over the blocking API. Private to worker_agent/session.
//
// It does not use gRPC's callback API: when the last channel goes away inside a callback, gRPC 1.51 tears down its
// threads from one of these threads, and aborts.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "common/base/mutex.h"
#include "muster/v1/rendezvous.grpc.pb.h"

namespace muster::agent {

class Stream {
 public:
  // Opens the stream, reads it until it is over, and returns how it ended. Must be called once, in a thread of its own.
  grpc::Status Run(const std::shared_ptr<grpc::Channel>& channel,
                   const std::function<void(v1::SchedulerMessage)>& on_message);

  // Returns the scheduler's address and port, in gRPC's form. Only the thread in Run may call it, once it has read a
  // message.
  std::string peer() const { return context_.peer(); }

  // The most that may wait to be sent. A scheduler that was stopped (SIGSTOP) reads nothing while its machine keeps the
  // connection. Above the limit the stream is cancelled; a new one repeats what was not acknowledged.
  static constexpr size_t kMaxUnsentBytes = 8 << 20;

  // The methods below may be called from any thread, also before Run, and don't block.
  void Send(v1::AgentMessage message);
  // Ends the stream gracefully: sends the messages that wait, and no later ones. The scheduler then ends the stream.
  void HangUp();
  // Ends the stream at once.
  void Cancel();

 private:
  using Call = grpc::ClientReaderWriterInterface<v1::AgentMessage, v1::SchedulerMessage>;

  // Writes messages until the stream is hung up, cancelled or over.
  void WriteAll(Call& call);

  grpc::ClientContext context_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<v1::AgentMessage> outgoing_ ABSL_GUARDED_BY(mutex_);
  size_t unsent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of outgoing_
  bool is_hanging_up_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::agent
