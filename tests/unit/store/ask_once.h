// Sends one request of the store on a stream of its own.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "muster/v1/store.grpc.pb.h"

namespace muster {

// Returns the answer's status, or the stream's if no answer came within `patience`.
inline grpc::Status AskOnce(v1::Store::Stub& stub, v1::StoreRequest request, std::chrono::milliseconds patience) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  const auto stream = stub.Stream(&context);
  v1::StoreRequests requests;
  request.set_call(1);
  *requests.add_requests() = std::move(request);
  stream->Write(requests);
  v1::StoreAnswers answers;
  const bool is_answered = stream->Read(&answers) && answers.answers_size() == 1;
  stream->WritesDone();
  for (v1::StoreAnswers more; stream->Read(&more);) {
  }
  const grpc::Status ended = stream->Finish();
  if (!is_answered) return ended;
  return {static_cast<grpc::StatusCode>(answers.answers(0).code()), answers.answers(0).message()};
}

}  // namespace muster
