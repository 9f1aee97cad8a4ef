// One stream of the store's requests to the scheduler: requests made while a message is on its way go out together in
// the next one.
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

// Thread-safe, except Begin. Its tags are on the queue until on_end was called.
class StoreStream : public std::enable_shared_from_this<StoreStream> {
 public:
  using Sends = std::map<uint64_t, StoreCore::Send>;  // by call
  struct Hooks {
    std::function<void(v1::StoreAnswer& answer)> on_answer;
    // The last one: how it ended, and what was not answered.
    std::function<void(const StoreStream& ended, const grpc::Status& status, Sends unanswered)> on_end;
  };

  // The thread that takes from `queue` calls the hooks.
  StoreStream(std::shared_ptr<v1::Store::Stub> stub, Hooks hooks) : stub_(std::move(stub)), hooks_(std::move(hooks)) {}

  void Begin(grpc::CompletionQueue& queue);
  // False: it has ended, or is about to.
  bool Ask(const std::vector<StoreCore::Send>& sends);
  void Cancel() { context_.TryCancel(); }

 private:
  // Goes on with one kind of operation.
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

  const std::shared_ptr<v1::Store::Stub> stub_;  // keeps the channel
  const Hooks hooks_;
  Tag opened_{*this, &StoreStream::Opened}, read_{*this, &StoreStream::Read};
  Tag written_{*this, &StoreStream::Written}, ended_{*this, &StoreStream::Ended};
  std::shared_ptr<StoreStream> self_;  // from Begin until the end
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::StoreRequests, v1::StoreAnswers>> call_;
  v1::StoreAnswers answers_;  // owned by the read in flight, then by Read
  grpc::Status status_;

  Mutex mutex_;
  Sends unanswered_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> unsent_ ABSL_GUARDED_BY(mutex_);  // calls of these
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more is read
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::agent
