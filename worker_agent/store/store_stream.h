// One gRPC stream with the store's requests to the scheduler. Requests that are made while a message is being written
// are sent together in the next message.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "common/base/mutex.h"
#include "muster/v1/store.grpc.pb.h"
#include "worker_agent/store/link_tag.h"
#include "worker_agent/store/store_core.h"

namespace muster::agent {

// Thread-safe, except Begin. The object keeps itself alive from Begin until on_end has been called.
class StoreStream : public std::enable_shared_from_this<StoreStream> {
 public:
  using Sends = std::map<uint64_t, StoreCore::Send>;  // by call
  struct Hooks {
    std::function<void(v1::StoreAnswer& answer)> on_answer;
    // Called last, with the stream's status and the requests that were not answered.
    std::function<void(const StoreStream& ended, const grpc::Status& status, Sends unanswered)> on_end;
  };

  // The thread that takes tags from the queue of Begin calls the hooks.
  StoreStream(std::shared_ptr<v1::Store::Stub> stub, Hooks hooks) : stub_(std::move(stub)), hooks_(std::move(hooks)) {}

  void Begin(grpc::CompletionQueue& queue);
  // Sends the requests. Returns false if the stream has ended or is about to end; they are then not sent.
  bool Ask(const std::vector<StoreCore::Send>& sends);
  void Cancel() { context_.TryCancel(); }

 private:
  // The tag of one kind of operation: calls the method that handles the operation's end.
  class Tag : public LinkTag {
   public:
    using Next = void (StoreStream::*)(bool is_ok);
    Tag(StoreStream& stream, Next next) : stream_(stream), next_(next) {}
    void Happened(bool is_ok) override { (stream_.*next_)(is_ok); }

   private:
    StoreStream& stream_;
    const Next next_;
  };

  void Opened(bool is_ok);
  void Read(bool is_ok);
  void Written(bool is_ok);
  void Ended(bool is_ok);
  void WriteOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<v1::Store::Stub> stub_;  // keeps the channel alive
  const Hooks hooks_;
  Tag opened_{*this, &StoreStream::Opened}, read_{*this, &StoreStream::Read};
  Tag written_{*this, &StoreStream::Written}, ended_{*this, &StoreStream::Ended};
  std::shared_ptr<StoreStream> self_;  // from Begin until the end
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::StoreRequests, v1::StoreAnswers>> call_;
  v1::StoreAnswers answers_;  // gRPC fills it during a read; afterwards Read uses it
  grpc::Status status_;

  Mutex mutex_;
  Sends unanswered_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> unsent_ ABSL_GUARDED_BY(mutex_);  // the calls in unanswered_ that were not sent yet
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;  // the scheduler or the connection has ended the stream
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::agent
