// One Session stream over the blocking API. Private to worker_agent/session.
//
// gRPC's callback API is left alone here: in 1.51 it tears its threads down from one of them when the last channel goes
// away in a callback, and aborts.
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
  // Opens the stream, reads until it is over, returns how it ended. Must be called once, in a thread of its own.
  grpc::Status Run(const std::shared_ptr<grpc::Channel>& channel,
                   const std::function<void(v1::SchedulerMessage)>& on_message);

  // The scheduler's address and port, in gRPC's form. For the thread that runs it, once something was read.
  std::string peer() const { return context_.peer(); }

  // A scheduler that is stopped reads nothing for as long as its machine keeps the connection. Beyond this the stream
  // is broken off: a new one repeats what was not acknowledged.
  static constexpr size_t kMaxUnsentBytes = 8 << 20;

  // The others may be called from any thread, also before Run, and don't block.
  void Send(v1::AgentMessage message);
  // Sends nothing more after the earlier messages; the scheduler then ends the stream.
  void HangUp();
  // Ends it at once.
  void Cancel();

 private:
  using Call = grpc::ClientReaderWriterInterface<v1::AgentMessage, v1::SchedulerMessage>;

  // Writes until nothing more is to be sent.
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
