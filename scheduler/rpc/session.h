// One agent's Session stream.
//
// Reads one message at a time and posts it to the loop. It reads the next message only after the loop has applied this
// one, so an agent can't pile up work. The core's messages to the agent go through a bounded queue.
//
// gRPC's threads, the loop's thread and the sweeper call its functions. One mutex guards the state. No gRPC operation
// starts while the mutex is held.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "scheduler/frontend/outgoing_queue.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/rpc/stream_steps.h"

namespace muster::scheduler {

class Session : public StreamSteps<grpc::ByteBuffer, grpc::ByteBuffer>,
                public OpenStream,
                public std::enable_shared_from_this<Session> {
 public:
  Session(const ServiceContext& services, grpc::CallbackServerContext* context);

  // Registers the stream and starts the first read. From now on the session keeps itself alive, until gRPC has finished
  // with it.
  void Begin();

  // OpenStream
  void Send(std::shared_ptr<const v1::SchedulerMessage> message) override;
  void Close() override;
  void CloseForShutdown() override;
  void OnDeadline() override;
  void MakeRoom() override;
  void CheckPeer() override;

  // gRPC's reactor
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // The states of a session. It goes through them in this order, and never goes back.
  enum class Life {
    kOpen,
    kEnding,    // reads nothing more, and accepts no further message to send; queued messages are still sent
    kFinished,  // Finish was called, or is about to be
    kDone,      // gRPC has finished with it
  };
  // The core's knowledge of this stream.
  enum class Standing {
    kUnknown,  // nothing: no join was posted
    kAsking,   // nothing yet, but a valid join is being posted
    kKnown,    // the join was posted
    kGone,     // after the join, StreamClosed was posted, too
  };

  void Pump();
  Step NextStep() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Handle(const v1::AgentMessage& message);
  void HandleJoin(const v1::Join& join);
  void PostAndReadOn(Event event);
  void ReadOn();
  // Sends the peer the reason, counts the refusal under `kind`, and ends the stream.
  void Refuse(v1::Refusal::Reason reason, const std::string& text, const std::string& kind);
  void EndWith(grpc::Status status);
  // Posts StreamClosed once, if the core has heard of this stream.
  void PostClosed();

  const ServiceContext& services_;
  grpc::CallbackServerContext* const context_;  // valid until OnDone
  const PeerFacts peer_;
  const StreamId id_;
  std::shared_ptr<Session> self_;                      // keeps the session alive until OnDone
  OutgoingQueue queue_ ABSL_GUARDED_BY(mutex_);        // messages that wait to be written
  bool wants_read_ ABSL_GUARDED_BY(mutex_) = false;    // the next read may start
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;    // a write is in flight
  bool is_peer_gone_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more can be written
  Life life_ ABSL_GUARDED_BY(mutex_) = Life::kOpen;
  Standing standing_ ABSL_GUARDED_BY(mutex_) = Standing::kUnknown;
  bool is_welcomed_ ABSL_GUARDED_BY(mutex_) = false;  // the core has welcomed it; possibly before standing_ is kKnown
};

}  // namespace muster::scheduler
