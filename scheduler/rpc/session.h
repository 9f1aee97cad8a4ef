// One agent's Session stream.
//
// Reads one message at a time and posts it to the loop. The next read starts only after the loop has applied it, so an
// agent can't pile up work. The core's messages go through a bounded queue. gRPC's threads, the loop's thread and the
// sweeper call in; one mutex guards the state, and no gRPC operation starts while it is held.
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

  // Registers the stream and starts the first read. The session keeps itself alive until gRPC has finished with it.
  void Begin();

  // OpenStream
  void Send(std::shared_ptr<const v1::SchedulerMessage> message) override;
  void Close() override;
  void CloseForShutdown() override;
  void OnDeadline() override;
  void MakeRoom() override;
  void CheckPeer() override;

  // Reactions
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // The states of a session, in order; none is entered again.
  enum class Life {
    kOpen,
    kEnding,    // nothing more is read or accepted; queued messages still go out
    kFinished,  // Finish was called, or is about to be
    kDone,      // gRPC has finished with it
  };
  // The core's knowledge of this stream.
  enum class Standing {
    kUnknown,
    kAsking,  // a valid join was read and is being posted
    kKnown,   // the join was posted: the core knows this stream, or will
    kGone,    // the core got StreamClosed
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
  std::shared_ptr<Session> self_;                // until OnDone
  OutgoingQueue queue_ ABSL_GUARDED_BY(mutex_);  // to be written
  // Operations that are wanted, or in flight.
  bool wants_read_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_peer_gone_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more can be written
  Life life_ ABSL_GUARDED_BY(mutex_) = Life::kOpen;
  Standing standing_ ABSL_GUARDED_BY(mutex_) = Standing::kUnknown;
  bool is_welcomed_ ABSL_GUARDED_BY(mutex_) = false;  // may be true before the thread that posted the join sets kKnown
};

}  // namespace muster::scheduler
