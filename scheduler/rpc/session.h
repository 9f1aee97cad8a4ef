// One agent's Session stream.
//
// Reads one message at a time and posts it to the loop; the next read starts only when the loop has applied it, so an
// agent can't pile up work. What the core sends goes through a bounded queue. gRPC's threads, the loop's thread and the
// sweeper call in; one mutex guards the state, and no gRPC operation is started while it is held.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "common/mutex.h"
#include "scheduler/rpc/outgoing_queue.h"
#include "scheduler/rpc/service_context.h"

namespace muster::scheduler {

class Session : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                public OpenStream,
                public std::enable_shared_from_this<Session> {
 public:
  Session(const ServiceContext& services, grpc::CallbackServerContext* context);

  // Registers the stream and starts the first read. The session keeps itself alive until gRPC is done with it.
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
  enum class Step { kNone, kRead, kWrite, kFinish };

  // Starts whatever may be started now: a read, a write, the end.
  void Pump();
  Step NextStep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Handle(const v1::AgentMessage& message);
  void HandleJoin(const v1::Join& join);
  void PostAndReadOn(Event event);
  void ReadOn();
  // Turns the peer away in words, counts it under `kind`, and ends the stream.
  void Refuse(v1::Refusal::Reason reason, const std::string& text, const std::string& kind);
  void EndWith(grpc::Status status);
  // Posts StreamClosed once, if the core has heard of this stream.
  void TellCore();

  const ServiceContext& services_;
  grpc::CallbackServerContext* const context_;  // valid until OnDone
  const PeerFacts peer_;
  const std::string grpc_peer_;
  const StreamId id_;
  std::shared_ptr<Session> self_;  // until OnDone
  grpc::ByteBuffer incoming_;      // owned by the read in flight, then by OnReadDone

  Mutex mutex_;
  OutgoingQueue outgoing_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer writing_bytes_ ABSL_GUARDED_BY(mutex_);  // owned by the write in flight
  bool wants_read_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;  // threads between deciding on an operation and having started it
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_peer_gone_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more can be written
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;   // Finish was, or is about to be, called
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_joined_ ABSL_GUARDED_BY(mutex_) = false;  // a good join was read
  bool is_known_ ABSL_GUARDED_BY(mutex_) = false;    // … and posted: the core knows this stream, or will
  bool is_welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_told_closed_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
