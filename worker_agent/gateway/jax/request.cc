// The message of each request, in both dialects:
//
//   method                           up to jaxlib 0.9         from 0.10 on
//   RegisterTask                     OldRegister              NewRegister
//   Heartbeat                        OldHeartbeat             NewHeartbeat
//   PollForError, ShutdownTask       OldTaskOfOne             NewTaskOfOne
//   ResetTask                        OldTaskOfOne             -
//   ReportErrorToService             OldReportError           -
//   InsertKeyValue                   OldInsert                NewInsert
//   Get…, TryGet…, …Dir, Increment…  OldKey                   NewKey
//   DeleteKeyValue                   OldKey                   NewKey
//   Barrier, CancelBarrier           Old…                     New…
//   GetAliveTasks                    OldGetAlive              NewGetAlive
//   GetTaskState                     OldGetStates             -
//   GetJobState, WatchJobState       OldWatchStates           -
//   WatchTasks                       -                        NewWatchStates
#include "worker_agent/gateway/jax/request.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "absl/strings/strip.h"
#include "worker_agent/gateway/jax/messages.pb.h"

namespace muster::jax {
namespace {

constexpr char kJobName[] = "jax_worker";  // the only one that jaxlib uses

struct Named {
  absl::string_view name;
  Method method;
  bool is_in_old = true;
  bool is_in_new = true;
};
constexpr std::array kMethods = {
    Named{"RegisterTask", Method::kRegister},
    Named{"Heartbeat", Method::kHeartbeat},
    Named{"PollForError", Method::kPollForError},
    Named{"ShutdownTask", Method::kShutdown},
    Named{"ResetTask", Method::kReset, true, false},
    Named{"ReportErrorToService", Method::kReportError, true, false},
    Named{"InsertKeyValue", Method::kInsert},
    Named{"GetKeyValue", Method::kGet},
    Named{"TryGetKeyValue", Method::kTryGet},
    Named{"IncrementKeyValue", Method::kIncrement},
    Named{"GetKeyValueDir", Method::kGetDirectory},
    Named{"DeleteKeyValue", Method::kDelete},
    Named{"Barrier", Method::kBarrier},
    Named{"CancelBarrier", Method::kCancelBarrier},
    Named{"GetAliveTasks", Method::kGetAlive},
    Named{"GetTaskState", Method::kGetStates, true, false},
    Named{"GetJobState", Method::kWatchStates, true, false},
    Named{"WatchJobState", Method::kWatchStates, true, false},
    Named{"WatchTasks", Method::kWatchStates, false, true},
};

// The messages of each dialect. Fields with the same meaning have the same name in both.
struct Old {
  using Register = OldRegister;
  using Heartbeat = OldHeartbeat;
  using TaskOfOne = OldTaskOfOne;
  using Insert = OldInsert;
  using Key = OldKey;
  using Barrier = OldBarrier;
  using CancelBarrier = OldCancelBarrier;
  using GetAlive = OldGetAlive;
  using WatchStates = OldWatchStates;
};
struct New {
  using Register = NewRegister;
  using Heartbeat = NewHeartbeat;
  using TaskOfOne = NewTaskOfOne;
  using Insert = NewInsert;
  using Key = NewKey;
  using Barrier = NewBarrier;
  using CancelBarrier = NewCancelBarrier;
  using GetAlive = NewGetAlive;
  using WatchStates = NewWatchStates;
};

int32_t IdOf(const OldTask& task) { return task.task_id(); }
int32_t IdOf(int32_t task) { return task; }

template <typename Message>
void TakeIncarnations(const Message& message, Request& request) {
  if constexpr (requires { message.incarnations(); }) {
    request.incarnation = message.incarnations().task();
    request.service_incarnation = message.incarnations().service();
  }
  if constexpr (requires { message.incarnation(); }) request.incarnation = message.incarnation();
}

template <typename Message>
void TakeTasks(const Message& message, Request& request) {
  for (const auto& task : message.tasks()) request.tasks.push_back(IdOf(task));
}

// Parses a message and takes the fields that most messages have. `take` takes the others.
template <typename Message, typename Take>
bool Read(const std::string& bytes, Request& request, const Take& take) {
  Message message;
  if (!message.ParseFromString(bytes)) return false;
  TakeIncarnations(message, request);
  if constexpr (requires { message.source_task(); }) request.task = IdOf(message.source_task());
  take(message);
  return true;
}

template <typename Messages>
bool ReadAs(Method method, const std::string& bytes, Request& request) {
  const auto nothing_more = [](const auto&) {};
  switch (method) {
    case Method::kRegister:
      return Read<typename Messages::Register>(bytes, request, nothing_more);
    case Method::kHeartbeat:
      return Read<typename Messages::Heartbeat>(bytes, request, nothing_more);
    case Method::kInsert:
      return Read<typename Messages::Insert>(bytes, request, [&](const auto& message) {
        request.name = message.kv().key();
        request.value = message.kv().value();
        request.may_overwrite = message.allow_overwrite();
      });
    case Method::kGet:
    case Method::kTryGet:
    case Method::kGetDirectory:
    case Method::kIncrement:
    case Method::kDelete:
      return Read<typename Messages::Key>(bytes, request, [&](const auto& message) {
        request.name = message.key();
        request.increment = message.increment();
      });
    case Method::kBarrier:
      return Read<typename Messages::Barrier>(bytes, request, [&](const auto& message) {
        request.name = message.barrier_id();
        request.counter = message.counter();
        request.timeout_ms = message.timeout_ms();
        TakeTasks(message, request);
      });
    case Method::kCancelBarrier:
      return Read<typename Messages::CancelBarrier>(bytes, request, [&](const auto& message) {
        request.name = message.barrier_id();
        request.counter = message.counter();
      });
    case Method::kGetAlive:
      return Read<typename Messages::GetAlive>(bytes, request, [&](const auto& message) {
        request.task = IdOf(message.requesting_task());
        TakeTasks(message, request);
      });
    case Method::kReportError:
      return Read<OldReportError>(bytes, request, [&](const OldReportError& message) {
        request.name = message.error_message();
        request.task = IdOf(message.error_origin());
      });
    case Method::kGetStates:
      return Read<OldGetStates>(bytes, request, [&](const OldGetStates& message) { TakeTasks(message, request); });
    case Method::kWatchStates:
      return Read<typename Messages::WatchStates>(bytes, request,
                                                  [&](const auto& message) { request.version = message.version(); });
    case Method::kPollForError:
    case Method::kShutdown:
    case Method::kReset:
      return Read<typename Messages::TaskOfOne>(bytes, request, nothing_more);
  }
  return false;
}

// ---- replies

constexpr int32_t kConnected = 3;  // of XLA's TaskState; Muster reports no other state

void FillTask(int32_t id, OldTask& task) {
  task.set_job_name(kJobName);
  task.set_task_id(id);
}

std::string WriteAlive(Dialect dialect, const Reply& reply) {
  if (dialect == Dialect::kNew) {
    NewAlive message;
    for (const int32_t task : reply.tasks) message.add_tasks(task);
    for (const uint64_t incarnation : reply.incarnations) message.add_incarnations(incarnation);
    return message.SerializeAsString();
  }
  OldAlive message;
  for (const int32_t task : reply.tasks) FillTask(task, *message.add_tasks());
  for (const uint64_t incarnation : reply.incarnations) message.add_incarnations(incarnation);
  return message.SerializeAsString();
}

template <typename States>
std::string WriteStates(const Reply& reply) {
  States message;
  for (size_t i = 0; i < std::min(reply.tasks.size(), reply.incarnations.size()); ++i) {
    auto& state = *message.add_tasks();
    if constexpr (std::is_same_v<States, OldStates>) {
      FillTask(reply.tasks[i], *state.mutable_task());
    } else {
      state.set_task(reply.tasks[i]);
    }
    state.set_state(kConnected);
    state.set_incarnation(reply.incarnations[i]);
  }
  message.set_version(reply.version);
  return message.SerializeAsString();
}

void Fill(const std::pair<std::string, std::string>& value, KeyValue& kv) {
  kv.set_key(value.first);
  kv.set_value(value.second);
}

}  // namespace

std::optional<Call> CallOf(absl::string_view path) {
  Call call;
  if (absl::ConsumePrefix(&path, "/xla.coordination.CoordinationService/")) {
    call.dialect = Dialect::kNew;
  } else if (absl::ConsumePrefix(&path, "/tensorflow.CoordinationService/")) {
    call.dialect = Dialect::kOld;
  } else {
    return std::nullopt;
  }
  for (const Named& named : kMethods) {
    if (named.name != path || !(call.dialect == Dialect::kNew ? named.is_in_new : named.is_in_old)) continue;
    call.method = named.method;
    return call;
  }
  return std::nullopt;
}

absl::StatusOr<Request> ReadRequest(Call call, const std::string& bytes) {
  Request request;
  request.method = call.method;
  const bool is_read = call.dialect == Dialect::kOld ? ReadAs<Old>(call.method, bytes, request)
                                                     : ReadAs<New>(call.method, bytes, request);
  if (is_read) return request;
  return absl::InvalidArgumentError(
      "the request does not have the format of this version of JAX's coordination service");
}

std::string WriteReply(Call call, const Reply& reply) {
  switch (call.method) {
    case Method::kRegister:
    case Method::kHeartbeat: {
      ServiceIncarnation message;
      message.set_incarnation(reply.incarnation);
      return message.SerializeAsString();
    }
    case Method::kGet:
    case Method::kTryGet:
    case Method::kIncrement: {
      OneKeyValue message;
      if (!reply.values.empty()) Fill(reply.values.front(), *message.mutable_kv());
      return message.SerializeAsString();
    }
    case Method::kGetDirectory: {
      Directory message;
      message.set_directory(reply.directory);
      for (const auto& value : reply.values) Fill(value, *message.add_kv());
      return message.SerializeAsString();
    }
    case Method::kBarrier: {
      BarrierCounter message;
      message.set_counter(reply.counter);
      return message.SerializeAsString();
    }
    case Method::kGetAlive:
      return WriteAlive(call.dialect, reply);
    case Method::kGetStates:
    case Method::kWatchStates:
      return call.dialect == Dialect::kNew ? WriteStates<NewStates>(reply) : WriteStates<OldStates>(reply);
    default:
      return "";
  }
}

}  // namespace muster::jax
