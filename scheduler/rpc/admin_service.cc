#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/fair_share.h"
#include "muster/v1/admin.grpc.pb.h"
#include "scheduler/frontend/core_calls.h"
#include "scheduler/frontend/counters.h"
#include "scheduler/rpc/bounded_call.h"
#include "scheduler/rpc/services.h"
#include "scheduler/rpc/validation.h"

namespace muster::scheduler {
namespace {

class AdminService : public v1::Admin::CallbackService {
 public:
  explicit AdminService(const ServiceContext& services) : services_(services) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const v1::StatusRequest* request,
                                      v1::StatusReply* reply) override {
    return Query(context, *request, reply);
  }
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context, const v1::NodesRequest* request,
                                      v1::NodesReply* reply) override {
    return Query(context, *request, reply);
  }
  grpc::ServerUnaryReactor* ListRanks(grpc::CallbackServerContext* context, const v1::RanksRequest* request,
                                      v1::RanksReply* reply) override {
    return Query(context, *request, reply);
  }
  grpc::ServerUnaryReactor* ListEvents(grpc::CallbackServerContext* context, const v1::EventsRequest* request,
                                       v1::EventsReply* reply) override {
    return Query(context, *request, reply);
  }
  grpc::ServerUnaryReactor* StopRun(grpc::CallbackServerContext* context, const v1::StopRequest* request,
                                    v1::StopReply* reply) override {
    return Change<StopRequested>(context, *request, reply);
  }
  grpc::ServerUnaryReactor* SteerRun(grpc::CallbackServerContext* context, const v1::SteerRequest* request,
                                     v1::SteerReply* reply) override {
    return Change<SteerRequested>(context, *request, reply);
  }
  grpc::ServerUnaryReactor* GetStacks(grpc::CallbackServerContext* context, const v1::StacksRequest* request,
                                      v1::StacksReply* reply) override {
    return Change<StacksRequested>(context, *request, reply);  // it stops or signals processes for a moment
  }

  grpc::ServerUnaryReactor* GetLogs(grpc::CallbackServerContext* context, const v1::LogsRequest* request,
                                    v1::LogsReply* reply) override {
    return Change<LogsRequested>(context, *request, reply);  // a process's output belongs to its owner
  }

  grpc::ServerUnaryReactor* GetCounters(grpc::CallbackServerContext* context, const v1::CountersRequest* /*request*/,
                                        v1::CountersReply* reply) override {
    auto* call = new BoundedCall(services_, services_.replies, context, grpc::StatusCode::RESOURCE_EXHAUSTED);
    const std::shared_ptr<const PeerFacts> caller_facts = services_.peers.Find(context->peer());
    const PeerFacts& peer = *caller_facts;
    const absl::Status status = Counted(peer, services_.authorizer.AuthorizeLook(peer));
    if (status.ok()) *reply = CountersOf(services_);
    call->Answer(status, reply->ByteSizeLong());
    return call;
  }

 private:
  // If `status` is an error, logs and counts that the peer may not see the state. Returns `status`.
  absl::Status Counted(const PeerFacts& peer, absl::Status status) {
    if (!status.ok()) {
      services_.counted.Note(Severity::kWarning, KindOf(status),
                             absl::StrCat("refused to show the state to ", peer.ToString(), ": ", status.message()));
    }
    return status;
  }

  absl::Status Sized(const PeerFacts& peer, const google::protobuf::MessageLite& request) {
    absl::Status status = CheckRequestSize(request.ByteSizeLong());
    if (!status.ok()) {
      services_.counted.Note(Severity::kWarning, kOversize,
                             absl::StrCat("refused a call from ", peer.ToString(), ": ", status.message()));
    }
    return status;
  }

  template <typename Request, typename Reply>
  grpc::ServerUnaryReactor* Query(grpc::CallbackServerContext* context, Request request, Reply* reply) {
    const std::shared_ptr<const PeerFacts> caller_facts = services_.peers.Find(context->peer());
    const PeerFacts& peer = *caller_facts;
    absl::Status status = Sized(peer, request);
    if (status.ok()) {
      std::string job_id = request.job_id();
      status = Counted(peer, services_.authorizer.AuthorizeLookAt(peer, job_id));
      request.set_job_id(std::move(job_id));
    }
    if (status.ok()) status = CheckRequest(request);
    return Ask(context, peer, std::move(status), reply, [&](QueryId id) -> Event {
      return QueryReceived{id, QueryRequest(std::move(request))};
    });
  }

  template <typename Requested, typename Request, typename Reply>
  grpc::ServerUnaryReactor* Change(grpc::CallbackServerContext* context, const Request& request, Reply* reply) {
    const std::shared_ptr<const PeerFacts> caller_facts = services_.peers.Find(context->peer());
    const PeerFacts& peer = *caller_facts;
    absl::Status status = Sized(peer, request);
    if (status.ok()) status = MayChange(services_, peer, request.job_id());
    if (status.ok()) status = CheckRequest(request);
    return Ask(context, peer, std::move(status), reply, [&](QueryId id) -> Event { return Requested{id, request}; });
  }

  // Posts the event to the core, and ends the call when the answer comes or query_limit is over. If `status` is an
  // error, ends the call with it at once.
  template <typename Reply, typename MakeEvent>
  grpc::ServerUnaryReactor* Ask(grpc::CallbackServerContext* context, const PeerFacts& peer, absl::Status status,
                                Reply* reply, const MakeEvent& make_event) {
    const std::string principal = peer.is_unix ? peer.ToString() : PrincipalOf(peer.identity, peer.address);
    auto* call = new BoundedCall(services_, services_.replies, context, grpc::StatusCode::RESOURCE_EXHAUSTED);
    if (const std::string why = services_.WhyFull(); status.ok() && !why.empty()) {
      status = absl::ResourceExhaustedError(why);  // the answer would wait until the disk has room again
    }
    if (!status.ok()) {
      call->Answer(status, 0);
      return call;
    }
    const absl::Status asked =
        AskCore(services_, principal, services_.query_limit, make_event, [call, reply](Answer answer) {
          auto* found = std::get_if<Reply>(&answer.reply);
          if (answer.status.ok() && found == nullptr)
            answer.status = absl::InternalError("the scheduler gave an answer of the wrong kind");
          const size_t bytes = answer.status.ok() ? found->ByteSizeLong() : 0;
          if (answer.status.ok()) *reply = std::move(*found);
          call->Answer(answer.status, bytes);
        });
    if (!asked.ok()) {
      services_.counted.Note(Severity::kWarning, "busy",
                             absl::StrCat("refused an admin call: ", std::string(asked.message())));
      call->Answer(asked, 0);
    }
    return call;
  }

  const ServiceContext& services_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const ServiceContext& services) {
  return std::make_unique<AdminService>(services);
}

}  // namespace muster::scheduler
