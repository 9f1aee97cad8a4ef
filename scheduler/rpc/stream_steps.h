// The common part of the services' streams. Several threads may want to start a read, a write or the end of a stream.
// StreamSteps makes sure that each operation is started only once, and in the right order.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "common/base/mutex.h"

namespace muster::scheduler {

// StreamSteps starts no gRPC operation while mutex_ is held: gRPC may call OnReadDone or another reaction at once, on
// the same thread, and the reaction locks mutex_.
template <typename In, typename Out>
class StreamSteps : public grpc::ServerBidiReactor<In, Out> {
 protected:
  enum class Step { kNone, kRead, kWrite, kFinish };

  // Returns the operation to start now, or kNone. The caller starts it, so it counts as started. kWrite writes
  // outgoing_. kFinish ends the stream with status_. Return kFinish only once, and never while starting_ is above 0:
  // then another thread is about to start an operation, which must not come after Finish.
  virtual Step NextStep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Starts all operations that may start now. The caller must keep the stream alive until StartSteps returns, because
  // gRPC may call OnDone before that.
  void StartSteps() {
    bool has_started = false;
    while (true) {
      Step step = Step::kNone;
      const Out* outgoing = nullptr;
      grpc::Status status;
      {
        MutexLock lock(mutex_);
        if (has_started) --starting_;
        step = NextStep();
        has_started = step == Step::kRead || step == Step::kWrite;
        if (has_started) ++starting_;
        if (step == Step::kWrite) outgoing = &outgoing_;
        if (step == Step::kFinish) status = status_;
      }
      switch (step) {
        case Step::kNone:
          return;
        case Step::kRead:
          this->StartRead(&incoming_);
          break;
        case Step::kWrite:
          this->StartWrite(outgoing);
          break;
        case Step::kFinish:
          this->Finish(std::move(status));
          return;
      }
    }
  }

  In incoming_;  // used by the read in flight, and then by OnReadDone
  Mutex mutex_;
  Out outgoing_ ABSL_GUARDED_BY(mutex_);      // used by the write in flight
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that have chosen an operation and not finished starting it
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
