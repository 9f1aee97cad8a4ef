// What a request is read from:
//
//   method                           up to jaxlib 0.9         from 0.10 on
//   RegisterTask                     OldRegister              NewRegister
//   Heartbeat                        OldRegister              NewHeartbeat
//   PollForError, ShutdownTask       OldTaskOfOne             NewTaskOfOne
//   ResetTask                        OldTaskOfOne             is not there
//   ReportErrorToService             OldReportError           is not there
//   InsertKeyValue                   OldInsert                NewInsert
//   Get…, TryGet…, …Dir, Increment…  OldKey                   NewKey
//   DeleteKeyValue                   OldDelete                NewDelete
//   Barrier, CancelBarrier           Old…                     New…
//   GetAliveTasks                    OldGetAlive              NewGetAlive
#include "worker_agent/gateway/jax/dialect.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "worker_agent/gateway/jax/messages.pb.h"

namespace muster::jax {
namespace {

constexpr char kJobName[] = "jax_worker";  // the only one that jaxlib uses

struct Named {
  absl::string_view name;
  Method method;
  bool is_in_new = true;
};
constexpr std::array kMethods = {
    Named{"RegisterTask", Method::kRegister},
    Named{"Heartbeat", Method::kHeartbeat},
    Named{"PollForError", Method::kPollForError},
    Named{"ShutdownTask", Method::kShutdown},
    Named{"ResetTask", Method::kReset, false},
    Named{"ReportErrorToService", Method::kReportError, false},
    Named{"InsertKeyValue", Method::kInsert},
    Named{"GetKeyValue", Method::kGet},
    Named{"TryGetKeyValue", Method::kTryGet},
    Named{"IncrementKeyValue", Method::kIncrement},
    Named{"GetKeyValueDir", Method::kGetDirectory},
    Named{"DeleteKeyValue", Method::kDelete},
    Named{"Barrier", Method::kBarrier},
    Named{"CancelBarrier", Method::kCancelBarrier},
    Named{"GetAliveTasks", Method::kGetAlive},
};

template <typename Message>
bool Read(const std::string& bytes, Message& message) {
  return message.ParseFromString(bytes);
}

// ---- up to jaxlib 0.9

std::optional<int32_t> IdOf(const OldTask& task) { return task.task_id(); }

bool ReadOldTasks(Method method, const std::string& bytes, Request& request) {
  if (method == Method::kRegister || method == Method::kHeartbeat) {
    OldRegister message;
    if (!Read(bytes, message)) return false;
    request.incarnation = message.incarnation();
    request.task = IdOf(method == Method::kRegister ? message.source_task() : message.heartbeat_task());
    return true;
  }
  if (method == Method::kReportError) {
    OldReportError message;
    if (!Read(bytes, message)) return false;
    request.name = message.error_message();
    request.task = IdOf(message.error_origin());
    return true;
  }
  OldTaskOfOne message;
  if (!Read(bytes, message)) return false;
  request.task = IdOf(message.source_task());
  return true;
}

bool ReadOldBarriers(Method method, const std::string& bytes, Request& request) {
  if (method == Method::kBarrier) {
    OldBarrier message;
    if (!Read(bytes, message)) return false;
    request.name = message.barrier_id();
    request.counter = message.counter();
    request.timeout_ms = message.timeout_ms();
    request.task = IdOf(message.source_task());
    for (const OldTask& task : message.tasks()) request.tasks.push_back(task.task_id());
    return true;
  }
  if (method == Method::kCancelBarrier) {
    OldCancelBarrier message;
    if (!Read(bytes, message)) return false;
    request.name = message.barrier_id();
    request.counter = message.counter();
    request.task = IdOf(message.source_task());
    return true;
  }
  OldGetAlive message;
  if (!Read(bytes, message)) return false;
  request.task = IdOf(message.requesting_task());
  for (const OldTask& task : message.tasks()) request.tasks.push_back(task.task_id());
  return true;
}

bool ReadOld(Method method, const std::string& bytes, Request& request) {
  switch (method) {
    case Method::kBarrier:
    case Method::kCancelBarrier:
    case Method::kGetAlive:
      return ReadOldBarriers(method, bytes, request);
    case Method::kInsert: {
      OldInsert message;
      if (!Read(bytes, message)) return false;
      request.name = message.kv().key();
      request.value = message.kv().value();
      request.may_overwrite = message.allow_overwrite();
      return true;
    }
    case Method::kGet:
    case Method::kTryGet:
    case Method::kGetDirectory:
    case Method::kIncrement: {
      OldKey message;
      if (!Read(bytes, message)) return false;
      request.name = message.key();
      request.increment = message.increment();
      return true;
    }
    case Method::kDelete: {
      OldDelete message;
      if (!Read(bytes, message)) return false;
      request.name = message.key();
      return true;
    }
    default:
      return ReadOldTasks(method, bytes, request);
  }
}

// ---- from jaxlib 0.10 on

void Take(const NewIncarnations& incarnations, Request& request) {
  request.incarnation = incarnations.task();
  request.service_incarnation = incarnations.service();
}

bool ReadNewTasks(Method method, const std::string& bytes, Request& request) {
  if (method == Method::kRegister) {
    NewRegister message;
    if (!Read(bytes, message)) return false;
    request.incarnation = message.incarnation();
    request.task = message.source_task();
    return true;
  }
  if (method == Method::kHeartbeat) {
    NewHeartbeat message;
    if (!Read(bytes, message)) return false;
    Take(message.incarnations(), request);
    request.incarnation = message.incarnation();
    request.task = message.source_task();
    return true;
  }
  NewTaskOfOne message;
  if (!Read(bytes, message)) return false;
  Take(message.incarnations(), request);
  request.task = message.source_task();
  return true;
}

bool ReadNewBarriers(Method method, const std::string& bytes, Request& request) {
  if (method == Method::kBarrier) {
    NewBarrier message;
    if (!Read(bytes, message)) return false;
    Take(message.incarnations(), request);
    request.name = message.barrier_id();
    request.counter = message.counter();
    request.timeout_ms = message.timeout_ms();
    request.task = message.source_task();
    request.tasks.assign(message.tasks().begin(), message.tasks().end());
    return true;
  }
  if (method == Method::kCancelBarrier) {
    NewCancelBarrier message;
    if (!Read(bytes, message)) return false;
    Take(message.incarnations(), request);
    request.name = message.barrier_id();
    request.counter = message.counter();
    request.task = message.source_task();
    return true;
  }
  NewGetAlive message;
  if (!Read(bytes, message)) return false;
  Take(message.incarnations(), request);
  request.task = message.requesting_task();
  request.tasks.assign(message.tasks().begin(), message.tasks().end());
  return true;
}

bool ReadNew(Method method, const std::string& bytes, Request& request) {
  switch (method) {
    case Method::kBarrier:
    case Method::kCancelBarrier:
    case Method::kGetAlive:
      return ReadNewBarriers(method, bytes, request);
    case Method::kInsert: {
      NewInsert message;
      if (!Read(bytes, message)) return false;
      Take(message.incarnations(), request);
      request.name = message.kv().key();
      request.value = message.kv().value();
      request.may_overwrite = message.allow_overwrite();
      return true;
    }
    case Method::kGet:
    case Method::kTryGet:
    case Method::kGetDirectory:
    case Method::kIncrement: {
      NewKey message;
      if (!Read(bytes, message)) return false;
      Take(message.incarnations(), request);
      request.name = message.key();
      request.increment = message.increment();
      return true;
    }
    case Method::kDelete: {
      NewDelete message;
      if (!Read(bytes, message)) return false;
      Take(message.incarnations(), request);
      request.name = message.key();
      return true;
    }
    default:
      return ReadNewTasks(method, bytes, request);
  }
}

// ---- replies

std::string WriteAlive(Dialect dialect, const Reply& reply) {
  if (dialect == Dialect::kNew) {
    NewAlive message;
    for (const int32_t task : reply.tasks) message.add_tasks(task);
    for (const uint64_t incarnation : reply.incarnations) message.add_incarnations(incarnation);
    return message.SerializeAsString();
  }
  OldAlive message;
  for (const int32_t id : reply.tasks) {
    OldTask& task = *message.add_tasks();
    task.set_job_name(kJobName);
    task.set_task_id(id);
  }
  for (const uint64_t incarnation : reply.incarnations) message.add_incarnations(incarnation);
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
    if (named.name != path || (call.dialect == Dialect::kNew && !named.is_in_new)) continue;
    call.method = named.method;
    return call;
  }
  return std::nullopt;
}

absl::StatusOr<Request> ReadRequest(Call call, const std::string& bytes) {
  Request request;
  request.method = call.method;
  const bool is_read =
      call.dialect == Dialect::kOld ? ReadOld(call.method, bytes, request) : ReadNew(call.method, bytes, request);
  if (is_read) return request;
  return absl::InvalidArgumentError(
      "the request is not written as this version of JAX's coordination service writes it");
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
    default:
      return "";
  }
}

}  // namespace muster::jax
