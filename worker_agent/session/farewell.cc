#include "worker_agent/session/farewell.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/net/grpc_calls.h"
#include "common/net/grpc_start.h"
#include "common/sys/log.h"
#include "common/sys/wait.h"
#include "common/tls/grpc/credentials.h"
#include "common/tls/tls_hand_over.h"
#include "muster/v1/rendezvous.grpc.pb.h"
#include "worker_agent/session/channel.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kTryTimeout = absl::Seconds(5);
constexpr absl::Duration kPatience = absl::Seconds(8);  // the keeper kills this program after 10 s
constexpr absl::Duration kPause = absl::Milliseconds(250);
constexpr char kRequiresTls[] = "requires_tls";
constexpr char kTakesPlain[] = "takes_plain";

bool TryOnce(const std::string& host, uint16_t port, const Security& security, const v1::LastReportRequest& last_report,
             absl::Duration timeout) {
  ConnectOptions connect;
  connect.host = host;
  connect.port = port;
  connect.timeout = timeout;
  connect.security = security;
  connect.job_id = last_report.job_id();
  connect.is_cancelled = [] { return false; };
  const auto channel = Connect(connect);
  if (!channel.ok()) return false;
  grpc::ClientContext context;
  context.set_deadline(GrpcDeadline(timeout));
  v1::LastReportReply reply;
  return v1::Rendezvous::NewStub(*channel)->LastReport(&context, last_report, &reply).ok();
}

// Returns the TLS state that this process was handed; null: it was handed none.
absl::StatusOr<std::shared_ptr<const TlsStore>> OpenTls(CountedLog& counted) {
  ForbidCoreDumps();
  absl::StatusOr<std::optional<HandedOverTls>> handed = TakeHandedOverTls(ToAbslTime(Clock::System().Read().wall));
  if (!handed.ok()) return handed.status();
  if (!handed->has_value()) return std::shared_ptr<const TlsStore>();
  SetGrpcCiphers((*handed)->ciphers);
  return std::shared_ptr<const TlsStore>(
      TlsStore::Fixed((*handed)->settings, (*handed)->ciphers, std::move((*handed)->state), Clock::System(), counted));
}

}  // namespace

std::vector<std::string> FarewellArguments(const std::string& program, const std::string& host, uint16_t port,
                                           bool requires_tls, const v1::LastReportRequest& last_report) {
  return {program,
          kLastReportFlag,
          host,
          absl::StrCat(port),
          absl::BytesToHexString(last_report.SerializeAsString()),
          "{signal}",
          "{exit_code}",
          requires_tls ? kRequiresTls : kTakesPlain};
}

int RunLastReport(const std::vector<std::string>& arguments) {
  uint32_t port = 0;
  int signal = 0, exit_code = 0;
  v1::LastReportRequest last_report;
  if (arguments.size() != 6 || !absl::SimpleAtoi(arguments[1], &port) || port > 65535 ||
      !last_report.ParseFromString(absl::HexStringToBytes(arguments[2])) || !absl::SimpleAtoi(arguments[3], &signal) ||
      !absl::SimpleAtoi(arguments[4], &exit_code)) {
    return kExitUsage;
  }
  last_report.set_signal(signal);
  last_report.set_exit_code(exit_code);
  Security security;
  security.requires_tls = arguments[5] != kTakesPlain;
  CountedLog counted(Clock::System());
  if (!StartGrpc(/*others=*/0).ok()) return kExitUnreachable;
  const absl::StatusOr<std::shared_ptr<const TlsStore>> tls = OpenTls(counted);
  if (!tls.ok()) return kExitSecurity;
  security.tls = *tls;
  return SendLastReport(arguments[0], static_cast<uint16_t>(port), security, last_report, kPatience) ? kExitSuccess
                                                                                                     : kExitUnreachable;
}

bool SendLastReport(const std::string& host, uint16_t port, const Security& security,
                    const v1::LastReportRequest& last_report, absl::Duration patience) {
  const MonotonicTime deadline = Clock::System().Read().monotonic + patience;
  while (true) {
    const absl::Duration left = deadline - Clock::System().Read().monotonic;
    if (left <= absl::ZeroDuration()) return false;
    if (TryOnce(host, port, security, last_report, std::min(left, kTryTimeout))) return true;
    Pause(kPause);
  }
}

}  // namespace muster::agent
