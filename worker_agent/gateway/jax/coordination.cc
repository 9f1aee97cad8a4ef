// Answers to requests:
//
//   all requests
//     for another service incarnation           INTERNAL with ServiceMismatchError, which ends a caller of an old round
//     from a task that is not this agent's      INVALID_ARGUMENT
//     when the round is over                    UNAVAILABLE with the cause; CANCELLED if it ended well
//   RegisterTask
//     the task's first, or the same again       OK once all tasks have registered; if some are missing shortly before
//                                               the caller gives up, DEADLINE_EXCEEDED with the missing tasks
//     from another process of the task          ABORTED
//   Heartbeat
//     from the registered process               OK at once
//     no process has registered                 INVALID_ARGUMENT
//     from another process of the task          ABORTED
//   PollForError                                UNAVAILABLE with the cause, which ends the process, when the round is
//                                               over or a stop has to end now (Stop); CANCELLED when the task has left
//   ShutdownTask                                OK once all tasks have called it; DEADLINE_EXCEEDED as above
//   requests on values                          see key_values.h
//   Barrier, CancelBarrier                      see barriers.h
//   GetAliveTasks                               all tasks of the request, after a barrier of these tasks: if one had
//                                               died, the round would be over
//   GetTaskState                                "connected" for each task; UNAVAILABLE before all have registered
//   GetJobState, WatchJobState, WatchTasks      the same, for all tasks; a caller that already has this version gets
//                                               its answer only when the round is over
//   ReportErrorToService                        OK at once; the error is logged
#include "worker_agent/gateway/jax/coordination.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "common/sys/log.h"

namespace muster::jax {
namespace {

constexpr size_t kMaxHeld = 16'384;
constexpr size_t kFirstDrop = 256;
constexpr size_t kMaxErrorBytes = 2400;  // a trailer has 8 KiB in all; a byte beyond ASCII takes three
constexpr int64_t kVersion = 1;          // of the tasks' states, which stay the same until the round is over
constexpr char kBarriers[] = "jax/b/";
constexpr char kInit[] = "[Init]Wait_for_all_tasks_to_register";
constexpr absl::Duration kToEnd = absl::Seconds(2);  // how long processes have to end after an answer to PollForError
// A key prefix of XLA's preemption_sync_manager.cc: each process sets such a key after a stop signal. The value 0 means
// that its script has never asked for a sync point.
constexpr char kStepKey[] = "PREEMPTION_CURRENT_COUNTER/";
constexpr char kServiceError[] = "type.googleapis.com/tensorflow.CoordinationServiceError";
constexpr char kBarrierError[] = "type.googleapis.com/tensorflow.BarrierError";
constexpr char kMismatch[] = "type.googleapis.com/tensorflow.ServiceMismatchError";

// Marks the status as a decision of the service. Without the mark jaxlib takes an error for a network problem, and
// tries again.
absl::Status Decided(absl::Status status) {
  if (!status.ok()) status.SetPayload(kServiceError, absl::Cord());
  return status;
}

absl::StatusOr<Reply> Decided(absl::Status status, Reply reply) {
  if (status.ok()) return reply;
  return Decided(std::move(status));
}

absl::Status OtherService(uint64_t asked, uint64_t own) {
  absl::Status status = absl::InternalError(absl::StrCat("wrong service incarnation ", asked, "; this round's is ", own,
                                                         ": the process is of another round"));
  ServiceIncarnation mismatch;
  mismatch.set_incarnation(own);
  status.SetPayload(kMismatch, absl::Cord(mismatch.SerializeAsString()));
  return Decided(std::move(status));
}

absl::Duration LimitOf(const Request& request) { return absl::Milliseconds(std::max<int64_t>(request.timeout_ms, 0)); }

std::string WriterOf(const agent::TaskLayout& layout) { return absl::StrCat(layout.own); }

}  // namespace

Coordination::Coordination(JobStore& store, const Clock& clock, agent::Post post, agent::TaskLayout layout,
                           uint64_t incarnation)
    : clock_(clock),
      barriers_(store, clock, post, layout, {.prefix = kBarriers, .keeps_arrivals_of = kInit}),
      values_(store, clock, post, WriterOf(layout)),
      layout_(std::move(layout)),
      incarnation_(incarnation) {}

absl::Status Coordination::Check(const Request& request) const {
  if (request.service_incarnation != 0 && request.service_incarnation != incarnation_) {
    return OtherService(request.service_incarnation, incarnation_);
  }
  if (!request.task || layout_.IsOwn(*request.task)) return absl::OkStatus();
  const auto& own = layout_.agents[layout_.own];
  return Decided(absl::InvalidArgumentError(
      absl::StrCat("Unexpected task registered with task=", *request.task, "; this node's ranks are ",
                   absl::StrJoin(own, ", "), " of ", layout_.size(),
                   ". Give jax.distributed.initialize process_id=int(os.environ[\"RANK\"]) and "
                   "num_processes=int(os.environ[\"WORLD_SIZE\"])")));
}

void Coordination::Handle(Request request, SharedHeld held) {
  if (end_) return held->Complete(*end_);
  if (absl::Status status = Check(request); !status.ok()) return held->Complete(std::move(status));
  if (held_.size() >= drop_at_) DropOver();
  if (held_.size() >= kMaxHeld) {
    return held->Complete(absl::ResourceExhaustedError(absl::StrCat(kMaxHeld, " requests wait here already")));
  }
  held_.push_back(held);
  switch (request.method) {
    case Method::kInsert:
    case Method::kGet:
    case Method::kTryGet:
    case Method::kIncrement:
    case Method::kGetDirectory:
    case Method::kDelete:
      return HandleValue(request, held);
    case Method::kBarrier:
    case Method::kCancelBarrier:
    case Method::kGetAlive:
      return HandleBarrier(request, held);
    default:
      return HandleTask(request, held);
  }
}

void Coordination::DropOver() {
  held_.remove_if([](const SharedHeld& held) { return held->is_over(); });
  std::erase_if(polls_, [](const auto& poll) { return poll.second->is_over(); });
  // Looks again only when twice as many are held as are left now. So the cost of looking, spread over all requests,
  // stays small however many are held.
  drop_at_ = std::clamp(2 * held_.size(), kFirstDrop, kMaxHeld);
}

// -------------------------------------------------------------------------------------------------------------- tasks

void Coordination::HandleTask(const Request& request, const SharedHeld& held) {
  const int32_t task = request.task.value_or(-1);
  switch (request.method) {
    case Method::kRegister:
      return Register(request, held);
    case Method::kHeartbeat:
      return Heartbeat(request, held);
    case Method::kPollForError:
      polls_.emplace(task, held);
      return;
    case Method::kShutdown:
      return Shutdown(task, LimitOf(request), held);
    case Method::kReset:
      Leave(task, absl::CancelledError("The task was reset."));
      return held->Complete(Reply());
    case Method::kGetStates:
    case Method::kWatchStates:
      return GetStates(request, held);
    default:
      Log(Severity::kWarning,
          absl::StrCat("JAX's task ", task, " reports: ", EscapeControl(request.name.substr(0, 500))));
      return held->Complete(Reply());
  }
}

void Coordination::Register(const Request& request, const SharedHeld& held) {
  Task& task = tasks_[*request.task];
  if (task.incarnation != 0 && task.incarnation != request.incarnation && !task.has_left) {
    return held->Complete(Decided(absl::AbortedError(
        absl::StrCat("task ", *request.task,
                     " has registered already, from another process: start one process for each rank, with process_id=",
                     "int(os.environ[\"RANK\"])"))));
  }
  task = {request.incarnation, false};
  agent::Arrival arrival;
  arrival.name = kInit;
  arrival.task = *request.task;
  arrival.limit = LimitOf(request);
  arrival.incarnation = request.incarnation;
  Arrive(std::move(arrival), [this, held](const absl::Status& status) {
    Reply reply;
    reply.incarnation = incarnation_;
    held->Complete(Decided(status, std::move(reply)));
  });
}

void Coordination::Heartbeat(const Request& request, const SharedHeld& held) {
  const auto found = tasks_.find(request.task.value_or(-1));
  if (found == tasks_.end() || found->second.has_left) {
    return held->Complete(Decided(absl::InvalidArgumentError("Unexpected heartbeat: the task has not registered.")));
  }
  if (request.incarnation != 0 && found->second.incarnation != request.incarnation) {
    return held->Complete(Decided(absl::AbortedError("Unexpected heartbeat: another process has this task's place.")));
  }
  Reply reply;
  reply.incarnation = incarnation_;
  held->Complete(std::move(reply));
}

void Coordination::GetStates(const Request& request, const SharedHeld& held) {
  const bool is_watch = request.method == Method::kWatchStates;
  if (is_watch && request.version >= kVersion) return;  // End answers it later
  const auto size = static_cast<size_t>(layout_.size());
  const std::vector<int32_t> tasks = is_watch ? layout_.Everyone() : request.tasks;
  barriers_.Incarnation(kInit, 0, [size, held, tasks](const absl::StatusOr<agent::Barriers::Incarnations>& known) {
    if (!known.ok()) return held->Complete(Decided(known.status()));
    if (known->size() < size) return held->Complete(absl::UnavailableError("not all tasks have registered yet"));
    Reply reply;
    reply.version = kVersion;
    reply.tasks = tasks;
    for (const int32_t task : tasks) {
      const auto registered = known->find(task);
      if (registered == known->end()) {
        return held->Complete(Decided(absl::InvalidArgumentError(
            absl::StrCat("there is no task ", task, "; the number of tasks in this round is ", size))));
      }
      reply.incarnations.push_back(registered->second);
    }
    held->Complete(std::move(reply));
  });
}

void Coordination::Shutdown(int32_t task, absl::Duration limit, const SharedHeld& held) {
  agent::Arrival arrival;
  arrival.name = absl::StrCat("[Shutdown]", incarnation_);
  arrival.task = task;
  arrival.limit = limit;
  Arrive(std::move(arrival), [this, task, held](const absl::Status& status) {
    if (status.ok()) Leave(task, absl::CancelledError("The task has shut down."));
    held->Complete(Decided(status, Reply()));
  });
}

// The process may have ended without ShutdownTask. Arrives at the shutdown barrier for it, so that the others don't
// wait.
void Coordination::Ended(int32_t task) {
  if (end_ || !tasks_.contains(task) || tasks_[task].has_left) return;
  Shutdown(task, absl::ZeroDuration(), std::make_shared<HeldRequest>([](const absl::StatusOr<Reply>&) {}));
}

void Coordination::Leave(int32_t task, const absl::Status& why) {
  tasks_[task].has_left = true;
  const auto [from, to] = polls_.equal_range(task);
  for (auto poll = from; poll != to; ++poll) poll->second->Complete(Decided(why));
  polls_.erase(from, to);
}

void Coordination::Stop(const std::string& why, absl::Duration limit) {
  if (end_ || !stop_at_.is_never()) return;
  if (has_no_sync_point_) return End(why);
  stop_why_ = why;
  stop_at_ = clock_.Read().monotonic + (limit - std::min(kToEnd, limit / 2));
}

void Coordination::NoteStep(const std::string& step) {
  if (step != "0") return;
  has_no_sync_point_ = true;
  if (!stop_at_.is_never()) End(stop_why_);
}

void Coordination::End(const std::string& why) {
  if (end_) return;
  stop_at_ = MonotonicTime::Never();
  if (why.empty()) {
    end_ = Decided(absl::CancelledError("the round is over"));
  } else {
    std::string text = EscapeControl(why);
    CutText(text, kMaxErrorBytes);
    end_ = Decided(absl::UnavailableError(text));
  }
  for (const SharedHeld& held : held_) held->Complete(*end_);
  held_.clear();
  polls_.clear();
}

void Coordination::Tick() {
  if (clock_.Read().monotonic >= stop_at_) return End(stop_why_);
  DropOver();
  barriers_.Tick();
}

// ---------------------------------------------------------------------------------------------- values and barriers

void Coordination::HandleValue(const Request& request, const SharedHeld& held) {
  const std::string key = NormalKey(request.name);
  const auto complete = [held](const absl::Status& status) { held->Complete(Decided(status, Reply())); };
  const auto complete_value = [held, name = request.name](absl::StatusOr<std::string> value) {
    if (!value.ok()) return held->Complete(Decided(value.status()));
    Reply reply;
    reply.values.emplace_back(name, *std::move(value));
    held->Complete(std::move(reply));
  };
  switch (request.method) {
    case Method::kInsert:
      if (absl::StartsWith(key, kStepKey)) NoteStep(request.value);
      return values_.Insert(key, request.value, request.may_overwrite, complete);
    case Method::kGet:
      return values_.Get(
          key, [held] { return !held->is_over(); }, complete_value);
    case Method::kTryGet:
      return values_.TryGet(key, complete_value);
    case Method::kIncrement:
      return values_.Increment(key, request.increment, complete_value);
    case Method::kDelete:
      return values_.Delete(key, complete);
    default:
      return values_.List(key, [held, name = request.name](absl::StatusOr<KeyValues::Pairs> pairs) {
        if (!pairs.ok()) return held->Complete(Decided(pairs.status()));
        Reply reply;
        reply.directory = name;
        reply.values = *std::move(pairs);
        held->Complete(std::move(reply));
      });
  }
}

// Adds the barrier's number to an error, so that the client goes on with the next barrier. Otherwise it would ask for
// this one for ever.
void Coordination::Arrive(agent::Arrival arrival, std::function<void(absl::Status status)> done) {
  const std::string name = arrival.name;
  barriers_.Arrive(std::move(arrival),
                   [name, done = std::move(done)](absl::Status status, std::optional<int64_t> counter) {
                     if (!status.ok() && counter) {
                       BarrierError error;
                       error.set_barrier_id(name);
                       error.set_counter(*counter);
                       status.SetPayload(kBarrierError, absl::Cord(error.SerializeAsString()));
                     }
                     done(std::move(status));
                   });
}

void Coordination::HandleBarrier(const Request& request, const SharedHeld& held) {
  if (request.method == Method::kGetAlive) return GetAlive(request, held);
  if (request.method == Method::kCancelBarrier) {
    barriers_.Cancel(request.name, request.counter);
    return held->Complete(Reply());
  }
  agent::Arrival arrival;
  arrival.name = request.name;
  arrival.counter = request.counter;
  arrival.tasks = request.tasks;
  arrival.limit = LimitOf(request);
  arrival.task = *request.task;
  Arrive(std::move(arrival), [held, counter = request.counter](const absl::Status& status) {
    Reply reply;
    reply.counter = counter;
    held->Complete(Decided(status, std::move(reply)));
  });
}

void Coordination::GetAlive(const Request& request, const SharedHeld& held) {
  std::vector<int32_t> asked = request.tasks;
  std::sort(asked.begin(), asked.end());
  agent::Arrival arrival;
  arrival.name = absl::StrCat("[Alive]", absl::StrJoin(asked, ","));
  arrival.counter = barriers_.CounterOf(arrival.name);
  arrival.tasks = asked;
  arrival.task = *request.task;
  Arrive(std::move(arrival), [this, held, asked](const absl::Status& status) {
    if (!status.ok()) return held->Complete(Decided(status));
    barriers_.Incarnation(kInit, 0, [held, asked](absl::StatusOr<agent::Barriers::Incarnations> known) {
      if (!known.ok()) return held->Complete(Decided(known.status()));
      Reply reply;
      reply.tasks = asked;
      for (const int32_t task : asked) reply.incarnations.push_back((*known)[task]);
      held->Complete(std::move(reply));
    });
  });
}

}  // namespace muster::jax
