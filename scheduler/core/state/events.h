// Input and output of the scheduler's core: events and effects.
//
// An event is a fact that already happened (a message arrived, a stream broke, time passed). An effect is something
// that the caller must now do. The caller carries out effects in order. It carries out the effects after a Persist only
// once that record is durable. Only a Send with is_urgent need not wait: an order to stop a process may go at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/severity.h"
#include "muster/v1/admin.pb.h"
#include "muster/v1/journal.pb.h"
#include "muster/v1/rendezvous.pb.h"
#include "muster/v1/store.pb.h"

namespace muster::scheduler {

// One open Session stream. Never reused within a process; 0 is none.
using StreamId = uint64_t;
// One call that waits for its answer: from ms-ctl, from a keeper, or to the store. Never reused within a process.
using QueryId = uint64_t;

// ---------------------------------------------------------------------------------------------------------- events

// The first message of a stream. Sizes and characters have been checked, and the identity has been authorised for
// the node id and job that the message names.
struct JoinRequested {
  StreamId stream = 0;
  v1::Join join;
  std::string peer_address;     // numeric address that the connection came from, without port
  std::string identity;         // the certificate's name; empty without TLS, or if names don't count (ca-only)
  std::string reached_at = {};  // numeric address of this scheduler that the connection came to; empty: not known
};

struct ReportReceived {
  StreamId stream = 0;
  v1::Report report;
};

// A heartbeat that came as a datagram. It has no effect if a newer heartbeat of its stream has come before it.
struct HeartbeatReceived {
  StreamId stream = 0;
  uint64_t heartbeat_seq = 0;
  uint32_t armed_fence_ms = 0;  // as in v1::Report
  v1::Report progress = {};     // only its progress is set, and checked; empty: the node has none, or it is not known
};

struct ProbeAnswered {
  StreamId stream = 0;
  uint64_t probe = 0;
};

// An agent's answer to a StackQuery.
struct StackTracesReceived {
  StreamId stream = 0;
  v1::StackTraces traces;
};

// An agent's answer to a LogQuery.
struct LogLinesReceived {
  StreamId stream = 0;
  v1::LogLines lines;
};

// A stream has ended: the peer closed it, the connection broke, or the scheduler closed it. This event comes once for
// each stream that sent a Join.
struct StreamClosed {
  StreamId stream = 0;
};

struct LastReportReceived {
  v1::LastReportRequest last_report;
  QueryId query = 0;     // the call to answer once the report is durable; 0: no call waits
  std::string identity;  // from the certificate; empty without TLS
};

// A request for the figures that monitoring shows: see views/overview.h.
struct OverviewRequest {};
struct Overview;

// A request for the data of a picture of the whole job: see views/job_map.h.
struct MapRequest {
  std::string job;
  uint64_t run = 0;  // 0: the latest
  bool with_names = false;

  const std::string& job_id() const { return job; }
};
struct JobMap;

using QueryRequest =
    std::variant<v1::StatusRequest, v1::NodesRequest, v1::RanksRequest, v1::EventsRequest, OverviewRequest, MapRequest>;

struct QueryReceived {
  QueryId query = 0;
  QueryRequest request;
};

struct StopRequested {
  QueryId query = 0;
  v1::StopRequest request;
};

struct SteerRequested {
  QueryId query = 0;
  v1::SteerRequest request;
  std::optional<uint32_t> seen_round = {};  // the request is only for this round; nullopt: for any round
};

struct StacksRequested {
  QueryId query = 0;
  v1::StacksRequest request;
};

struct LogsRequested {
  QueryId query = 0;
  v1::LogsRequest request;
};

using StoreOperation = std::variant<v1::StoreSet, v1::StoreGet, v1::StoreWait, v1::StoreDelete, v1::StoreAdd,
                                    v1::StoreCompareAndSet, v1::StoreList, v1::StoreBatch, v1::ReplicasReport>;

// A call of the Store service. Sizes have been checked, and the identity has been authorised for the caller's node id.
// The core answers each call once: a StoreWait and a ReplicasReport within kMaxStoreWaitMs, all others at once.
struct StoreRequested {
  QueryId query = 0;
  StoreOperation operation;
  std::string identity;  // from the certificate; empty without TLS
};

// The scheduler is going to end. From now on it refuses joins. With fails_runs, every run that has not ended fails,
// because the journal is in memory and the next scheduler process would not know these runs.
struct DrainRequested {
  bool fails_runs = false;
};

// The loop could not run, or could not empty its queue, because the process was stopped or the machine overloaded. So
// no agent is to blame for silence during this time. `by` is the time lost since the loop last ran.
struct LoopWasLate {
  absl::Duration by;
};

// Time has passed, and nothing else happened.
struct Tick {};

using Event =
    std::variant<JoinRequested, ReportReceived, HeartbeatReceived, ProbeAnswered, StackTracesReceived, LogLinesReceived,
                 StreamClosed, LastReportReceived, QueryReceived, StopRequested, SteerRequested, StacksRequested,
                 LogsRequested, StoreRequested, DrainRequested, LoopWasLate, Tick>;

// --------------------------------------------------------------------------------------------------------- effects

struct Persist {
  v1::Record record;
};

struct Send {
  StreamId stream = 0;
  std::shared_ptr<const v1::SchedulerMessage> message;
  bool is_urgent = false;   // it need not wait until the records before it are durable; see Outbox for an exception
  std::string job_id = {};  // for that exception: the job of an urgent desired state
};

// The caller must end the stream, after all messages that were sent on it before. The core has already forgotten it.
struct CloseStream {
  StreamId stream = 0;
};

using QueryReply = std::variant<v1::StatusReply, v1::NodesReply, v1::RanksReply, v1::EventsReply, v1::StopReply,
                                v1::SteerReply, v1::StacksReply, v1::LogsReply, v1::LastReportReply, v1::StoreReply,
                                std::shared_ptr<const Overview>, std::shared_ptr<const JobMap>>;

struct Answer {
  QueryId query = 0;
  absl::Status status;  // when not ok, reply is meaningless
  QueryReply reply;
};

// From now on GetPeers must answer for this round with these bytes.
struct PublishPeers {
  std::string job_id;
  uint64_t run = 0;
  uint32_t round = 0;
  std::shared_ptr<const std::string> peer_list;
};

// GetPeers need no longer answer for this run.
struct ForgetPeers {
  std::string job_id;
  uint64_t run = 0;
};

// A line of the event log that the caller must write to the scheduler's log.
struct Announce {
  Severity severity = Severity::kInfo;
  std::shared_ptr<const v1::JobEvent> event;
};

// A run has ended, and each of its agents knows the outcome or is gone. After this, `ms-scheduler --once` ends.
struct RunSettled {
  std::string job_id;
  uint64_t run = 0;
  v1::Outcome outcome;
};

using Effect = std::variant<Persist, Send, CloseStream, Answer, PublishPeers, ForgetPeers, Announce, RunSettled>;
using Effects = std::vector<Effect>;

}  // namespace muster::scheduler
