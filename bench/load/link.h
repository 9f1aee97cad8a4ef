// One connection with one Session stream, as an agent opens it, but on a completion queue instead of threads of its
// own. Belongs to the thread that drains the queue.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>

namespace muster::bench {

class Link {
 public:
  class User {
   public:
    virtual ~User() = default;
    virtual void OnMessage(const grpc::ByteBuffer& bytes) = 0;
    // The last call for this link, which may be destroyed in it.
    virtual void OnOver(const grpc::Status& status) = 0;
  };
  enum class Op { kStarted, kRead, kWritten, kFinished };
  struct Tag {
    Link* link = nullptr;
    size_t number = 0;  // the number of the link
    Op op = Op::kStarted;
  };

  // Opens the stream and sends `first`. Does not own `user`; the queue's events carry `number`.
  Link(std::shared_ptr<grpc::Channel> channel, grpc::CompletionQueue& queue, const grpc::ByteBuffer& first,
       size_t number, User& user);

  void Send(const grpc::ByteBuffer& bytes);
  void Cancel() { context_.TryCancel(); }
  void On(Op op, bool ok);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  void Write();
  void Finish();

  const std::shared_ptr<grpc::Channel> channel_;
  User& user_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  Tag started_, read_, written_, finished_;
  grpc::ByteBuffer incoming_;
  std::deque<grpc::ByteBuffer> outgoing_;
  bool is_started_ = false;
  bool is_writing_ = false;
  bool is_reading_ = false;
  bool is_over_ = false;
  bool is_finishing_ = false;
  grpc::Status status_;
};

}  // namespace muster::bench
