// Calls a gRPC method by its path, with bytes as the request, as a framework's own client does.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/grpc_calls.h"

namespace muster {

// The call goes to a port of this machine. For one thread; the destructor cancels it.
class GrpcCall {
 public:
  GrpcCall(uint16_t port, const std::string& method, const std::string& request,
           absl::Duration patience = absl::Seconds(20))
      : stub_(grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials())) {
    context_.set_deadline(GrpcDeadline(patience));
    const grpc::Slice slice(request);
    call_ = stub_.PrepareUnaryCall(&context_, method, grpc::ByteBuffer(&slice, 1), &queue_);
    call_->StartCall();
    call_->Finish(&reply_, &status_, this);
  }
  ~GrpcCall() {
    context_.TryCancel();
    Await();
    queue_.Shutdown();
  }

  void Cancel() { context_.TryCancel(); }
  // Does not block.
  bool IsOver() {
    void* tag = nullptr;
    bool is_ok = false;
    if (!is_over_) is_over_ = queue_.AsyncNext(&tag, &is_ok, GrpcDeadline(absl::ZeroDuration())) == queue_.GOT_EVENT;
    return is_over_;
  }
  grpc::Status Await() {
    void* tag = nullptr;
    bool is_ok = false;
    if (!std::exchange(is_over_, true)) {
      EXPECT_TRUE(queue_.Next(&tag, &is_ok));
    }
    return status_;
  }
  // Call this after Await().
  std::string reply() const {
    grpc::Slice bytes;
    EXPECT_TRUE(reply_.DumpToSingleSlice(&bytes).ok());
    return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
  }
  std::string trailer(const std::string& name) const {
    const auto& trailers = context_.GetServerTrailingMetadata();
    const auto found = trailers.find(name);
    return found == trailers.end() ? "" : std::string(found->second.data(), found->second.size());
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  bool is_over_ = false;
};

}  // namespace muster
