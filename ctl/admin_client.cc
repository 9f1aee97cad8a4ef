#include "ctl/admin_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/connection_error.h"
#include "common/net/grpc_calls.h"
#include "common/net/ip_address.h"
#include "common/net/net.h"
#include "common/tls/grpc/credentials.h"
#include "common/tls/plaintext.h"
#include "muster/v1/admin.grpc.pb.h"

namespace muster::ctl {
namespace {

constexpr uint32_t kNodesPerPage = 1000;
constexpr uint32_t kRanksPerPage = 10'000;
constexpr uint32_t kEventsPerPage = 1000;
constexpr int kMaxReplyBytes = 64 * 1024 * 1024;

std::shared_ptr<grpc::Channel> Dial(const std::string& target,
                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);          // the variable http_proxy is meant for web sites
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a dropped channel leaves no connection open
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name, this is the time limit of one attempt to connect. A busy scheduler needs time for the handshake.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

std::string TcpTarget(const IpAddress& address, uint16_t port) {
  return absl::StrCat(address.is_v6() ? "ipv6:" : "ipv4:", JoinHostPort(address.ToString(), port));
}

}  // namespace

class AdminClient::Impl {
 public:
  // `where` names the scheduler to the user; `check` is the advice if it can't be reached. With `tls` the scheduler's
  // certificate must be for `host` and, unless `job` is empty, for that job.
  Impl(std::vector<std::string> targets, std::string where, std::string check, absl::Duration timeout,
       std::shared_ptr<const TlsStore> tls = nullptr, std::string host = "", std::string job = "")
      : targets_(std::move(targets)),
        where_(std::move(where)),
        check_(std::move(check)),
        timeout_(timeout),
        tls_(std::move(tls)),
        host_(std::move(host)),
        job_(std::move(job)) {}

  // Call it if this client uses plain text over TCP. Then an error adds that a peer that closes at once may expect TLS.
  void SayThatItMayWantTls() { may_want_tls_ = true; }
  void SetFallback(SocketFallback fallback) { fallback_ = std::move(fallback); }

  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                             const Request& request) {
    Reply reply;
    if (fallback_stub_ != nullptr) {  // an earlier call has switched to the fallback
      const grpc::Status status = CallOnce(*fallback_stub_, method, request, timeout_, reply);
      return status.ok() ? absl::StatusOr<Reply>(std::move(reply)) : Explain(status);
    }
    FollowTls();
    // Leave half of the time for the fallback, if there is one.
    const absl::Duration patience = fallback_.socket.path.empty() ? timeout_ : timeout_ / 2;
    grpc::Status status;
    std::optional<absl::Status> mistrust;  // a TLS error at an address, which helps the user more than other errors
    for (size_t tried = 0; tried < targets_.size(); ++tried) {
      if (stub_ == nullptr) {
        handshake_result_->Forget();
        stub_ = v1::Admin::NewStub(Dial(targets_[current_], credentials_));
      }
      status = CallOnce(*stub_, method, request, patience, reply);
      if (IsAnswer(status)) handshake_result_->Forget();
      if (status.ok()) return reply;
      if (!handshake_result_->refusal().ok() || IsShutOut(status)) mistrust = Explain(status);
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) break;
      // Connect again with a new channel. If no call waits for a connection, gRPC itself would try again only every 5
      // s.
      stub_.reset();
      current_ = (current_ + 1) % targets_.size();
    }
    if (IsOutOfReach(status) && mistrust.has_value()) return *mistrust;
    if (!IsOutOfReach(status) || fallback_.socket.path.empty()) return Explain(status);
    std::unique_ptr<v1::Admin::Stub> stub =
        v1::Admin::NewStub(Dial("unix:" + fallback_.socket.path, grpc::InsecureChannelCredentials()));
    const grpc::Status answer = CallOnce(*stub, method, request, timeout_ - patience, reply);
    if (IsOutOfReach(answer)) return Explain(status);
    handshake_result_->Forget();  // the socket has no certificate
    fallback_stub_ = std::move(stub);
    fallback_.on_use(WhyNot(status, patience));
    return answer.ok() ? absl::StatusOr<Reply>(std::move(reply)) : Explain(answer);
  }

 private:
  template <typename Request, typename Reply>
  static grpc::Status CallOnce(v1::Admin::Stub& stub,
                               grpc::Status (v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                               const Request& request, absl::Duration patience, Reply& reply) {
    grpc::ClientContext context;
    context.set_deadline(GrpcDeadline(patience));
    return (stub.*method)(&context, request, &reply);
  }

  static bool IsOutOfReach(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
           status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  }

  // True if the scheduler itself answered, with success or an error.
  static bool IsAnswer(const grpc::Status& status) {
    return !IsOutOfReach(status) && status.error_code() != grpc::StatusCode::UNIMPLEMENTED;
  }

  // True if we accepted the peer's certificate, but it closed the connection right after the handshake.
  bool IsShutOut(const grpc::Status& status) const {
    return handshake_result_->was_asked() && status.error_code() == grpc::StatusCode::UNAVAILABLE;
  }

  // Switches to the current certificate and trusted authorities. Both may change during a long `ms-ctl watch`.
  void FollowTls() {
    if (tls_ == nullptr) return;
    const std::shared_ptr<const TlsState> state = tls_->Current();
    if (credentials_ == nullptr || state->identity_generation != identity_generation_) {
      credentials_ = MakeClientCredentials(tls_, host_, job_, handshake_result_);
      stub_.reset();
    }
    identity_generation_ = state->identity_generation;
    if (!handshake_result_->IsStillGood(*state->trust)) stub_.reset();  // the next dial's handshake reports the reason
  }

  std::string InWords(const std::string& grpc_message) const {
    return may_want_tls_ ? PlainConnectionErrorInWords(grpc_message) : ConnectionErrorInWords(grpc_message);
  }

  std::string WhyNot(const grpc::Status& status, absl::Duration patience) const {
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return absl::StrCat("no answer within ", absl::FormatDuration(patience));
    }
    if (IsAnotherServer(status.error_message())) return "another program answers there, not ms-scheduler";
    return InWords(status.error_message());
  }

  absl::Status Explain(const grpc::Status& status) const {
    const std::string& text = status.error_message();
    if (const TlsRefusal refusal = handshake_result_->refusal(); !refusal.ok()) {
      return absl::UnauthenticatedError(absl::StrCat("the scheduler at ", where_, " is not trusted: ", refusal.text));
    }
    if (IsShutOut(status)) {
      return absl::UnauthenticatedError(absl::StrCat(
          "the scheduler at ", where_,
          " closes the connection after the TLS handshake: it does not accept this certificate; its log says why (",
          text, ")"));
    }
    switch (status.error_code()) {
      case grpc::StatusCode::UNAVAILABLE:
        if (IsAnotherServer(text)) {
          return absl::UnavailableError(absl::StrCat(where_, " answers, but is no ms-scheduler. ", check_));
        }
        return absl::UnavailableError(
            absl::StrCat("no scheduler answers at ", where_, " (", InWords(text), "). ", check_));
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return absl::UnavailableError(absl::StrCat("the scheduler at ", where_, " did not answer within ",
                                                   absl::FormatDuration(timeout_), ". ", check_));
      case grpc::StatusCode::UNIMPLEMENTED:
        return absl::UnavailableError(absl::StrCat(
            "the program at ", where_, " is not ms-scheduler, or a version without this call (", text, "). ", check_));
      case grpc::StatusCode::PERMISSION_DENIED:  // this certificate lacks the permission
        return absl::UnauthenticatedError(text);
      default:
        return absl::Status(static_cast<absl::StatusCode>(status.error_code()), text);
    }
  }

  const std::vector<std::string> targets_;
  const std::string where_;
  const std::string check_;
  const absl::Duration timeout_;
  SocketFallback fallback_;
  const std::shared_ptr<const TlsStore> tls_;  // null: plain text
  const std::string host_;
  const std::string job_;
  uint64_t identity_generation_ = 0;
  std::shared_ptr<grpc::ChannelCredentials> credentials_ =
      tls_ == nullptr ? grpc::InsecureChannelCredentials() : nullptr;
  const std::shared_ptr<HandshakeResult> handshake_result_ = std::make_shared<HandshakeResult>();
  bool may_want_tls_ = false;
  size_t current_ = 0;
  std::unique_ptr<v1::Admin::Stub> stub_;
  std::unique_ptr<v1::Admin::Stub> fallback_stub_;  // set once a call has used the fallback
};

AdminClient::AdminClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminClient::~AdminClient() = default;

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::OverTcp(const std::string& host, uint16_t port,
                                                                  absl::Duration timeout, Security security,
                                                                  SocketFallback fallback, std::string job) {
  const absl::StatusOr<std::vector<IpAddress>> addresses = ResolveHost(host);
  if (!addresses.ok()) return absl::UnavailableError(std::string(addresses.status().message()));
  const bool is_plain = security.tls == nullptr;
  if (is_plain && security.requires_tls) {
    if (absl::Status status = CheckPlaintext(host, *addresses); !status.ok()) return status;
  }
  std::vector<std::string> targets;
  for (const IpAddress& address : *addresses) targets.push_back(TcpTarget(address, port));
  std::string check =
      "Check that ms-scheduler runs there and that --sched_host and --sched_port (MS_SCHED_HOST, MS_SCHED_PORT) name "
      "it.";
  const bool has_fallback = fallback.on_use && std::any_of(addresses->begin(), addresses->end(), IsLocalAddress);
  const absl::Status way = has_fallback ? CheckSocket(fallback.socket) : absl::OkStatus();
  if (absl::IsUnauthenticated(way)) absl::StrAppend(&check, " And ", way.message());
  auto impl = std::make_unique<Impl>(std::move(targets), JoinHostPort(host, port), std::move(check), timeout,
                                     std::move(security.tls), host, std::move(job));
  if (is_plain) impl->SayThatItMayWantTls();
  if (has_fallback && way.ok()) impl->SetFallback(std::move(fallback));
  return std::unique_ptr<AdminClient>(new AdminClient(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::OverSocket(const AdminSocket& socket,
                                                                     absl::Duration timeout) {
  const std::string check =
      "Run this on the scheduler's machine, as the user that runs ms-scheduler; --admin_socket names another socket.";
  if (const absl::Status way = CheckSocket(socket); !way.ok()) {
    return absl::IsUnavailable(way) ? absl::UnavailableError(absl::StrCat(way.message(), ". ", check)) : way;
  }
  return std::unique_ptr<AdminClient>(new AdminClient(
      std::make_unique<Impl>(std::vector<std::string>{"unix:" + socket.path}, socket.path, check, timeout)));
}

absl::StatusOr<v1::StatusReply> AdminClient::GetStatus(const std::string& job_id, uint64_t run) {
  v1::StatusRequest request;
  request.set_job_id(job_id);
  request.set_run(run);
  return impl_->Call(&v1::Admin::Stub::GetStatus, request);
}

absl::StatusOr<v1::NodesReply> AdminClient::ListNodes(const std::string& job_id, uint64_t run) {
  return ListNodePages(job_id, run, /*with_hosts=*/false);
}

absl::StatusOr<v1::NodesReply> AdminClient::ListHosts(const std::string& job_id, uint64_t run) {
  return ListNodePages(job_id, run, /*with_hosts=*/true);
}

absl::StatusOr<v1::NodesReply> AdminClient::ListNodePages(const std::string& job_id, uint64_t run, bool with_hosts) {
  v1::NodesRequest request;
  request.set_with_hosts(with_hosts);
  request.set_job_id(job_id);
  request.set_run(run);
  request.set_limit(kNodesPerPage);
  v1::NodesReply all;
  while (true) {
    request.set_offset(static_cast<uint32_t>(all.nodes_size()));
    absl::StatusOr<v1::NodesReply> page = impl_->Call(&v1::Admin::Stub::ListNodes, request);
    if (!page.ok()) return page.status();
    const bool is_last = page->nodes_size() == 0;
    all.MergeFrom(*page);
    if (is_last || static_cast<uint32_t>(all.nodes_size()) >= all.total()) return all;
    request.set_run(all.run());  // so that all pages are of the same run
  }
}

absl::StatusOr<v1::RanksReply> AdminClient::ListRanks(const std::string& job_id, uint64_t run) {
  v1::RanksRequest request;
  request.set_job_id(job_id);
  request.set_run(run);
  request.set_limit(kRanksPerPage);
  v1::RanksReply all;
  while (true) {
    request.set_offset(static_cast<uint32_t>(all.ranks_size()));
    absl::StatusOr<v1::RanksReply> page = impl_->Call(&v1::Admin::Stub::ListRanks, request);
    if (!page.ok()) return page.status();
    if (all.ranks_size() > 0 && page->round() != all.round()) {
      return absl::AbortedError("the ranks changed while they were being listed: try again");
    }
    const bool is_last = page->ranks_size() == 0;
    all.MergeFrom(*page);
    if (is_last || static_cast<uint32_t>(all.ranks_size()) >= all.total()) return all;
    request.set_run(all.run());
  }
}

absl::StatusOr<v1::EventsReply> AdminClient::ListEvents(const std::string& job_id, uint64_t after) {
  v1::EventsRequest request;
  request.set_job_id(job_id);
  request.set_after(after);
  request.set_limit(kEventsPerPage);
  v1::EventsReply all;
  while (true) {
    absl::StatusOr<v1::EventsReply> page = impl_->Call(&v1::Admin::Stub::ListEvents, request);
    if (!page.ok()) return page.status();
    all.MergeFrom(*page);
    if (static_cast<uint32_t>(page->events_size()) < kEventsPerPage) return all;
    request.set_after(all.events().rbegin()->number());
  }
}

absl::StatusOr<v1::StopReply> AdminClient::StopRun(const v1::StopRequest& request) {
  return impl_->Call(&v1::Admin::Stub::StopRun, request);
}

absl::StatusOr<v1::CountersReply> AdminClient::GetCounters() {
  return impl_->Call(&v1::Admin::Stub::GetCounters, v1::CountersRequest());
}

absl::StatusOr<v1::StacksReply> AdminClient::GetStacks(const v1::StacksRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetStacks, request);
}

absl::StatusOr<v1::NodesReply> AdminClient::ListMissing(const std::string& job_id, uint64_t run) {
  v1::NodesRequest request;
  request.set_job_id(job_id);
  request.set_run(run);
  request.set_limit(1);
  request.set_with_missing(true);
  return impl_->Call(&v1::Admin::Stub::ListNodes, request);
}

absl::StatusOr<v1::LogsReply> AdminClient::GetLogs(const v1::LogsRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetLogs, request);
}

absl::StatusOr<v1::SteerReply> AdminClient::SteerRun(const v1::SteerRequest& request) {
  return impl_->Call(&v1::Admin::Stub::SteerRun, request);
}

}  // namespace muster::ctl
