// The common part of the services' streams: decides which thread starts the next read, the next write and the end, when
// several threads call in.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "common/base/mutex.h"

namespace muster::scheduler {

// No gRPC operation starts while mutex_ is held: its reaction may run at once, on the same thread.
template <typename In, typename Out>
class StreamSteps : public grpc::ServerBidiReactor<In, Out> {
 protected:
  enum class Step { kNone, kRead, kWrite, kFinish };

  // Returns the operation that may start now; it counts as started. kWrite: of outgoing_. kFinish: once, with status_,
  // and never while starting_ is above 0, because Finish must not overtake an operation that another thread is about to
  // start.
  virtual Step NextStep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Starts all operations that may start. The caller keeps the stream alive meanwhile: OnDone may come before this
  // returns.
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

  In incoming_;  // owned by the read in flight, then by OnReadDone
  Mutex mutex_;
  Out outgoing_ ABSL_GUARDED_BY(mutex_);      // owned by the write in flight
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;  // threads between deciding on an operation and having started it
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::scheduler
