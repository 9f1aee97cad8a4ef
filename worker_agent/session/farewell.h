// The keeper's last report for its dead agent: `ms-worker --internal_farewell …`, an internal mode that the keeper runs
// as a program of its own, because gRPC can't be used in a forked child.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/tls/grpc/credentials.h"
#include "muster/v1/rendezvous.pb.h"

namespace muster::agent {

inline constexpr char kLastReportFlag[] = "--internal_farewell";

// Returns the command that the keeper is to run; {signal} and {exit_code} are its placeholders.
std::vector<std::string> FarewellArguments(const std::string& program, const std::string& host, uint16_t port,
                                           bool requires_tls, const v1::LastReportRequest& last_report);

// Runs the internal mode; `arguments` are those after kLastReportFlag. Uses TLS if it was handed the TLS state (see
// common/tls/tls_hand_over.h). Otherwise uses plain text, but with `requires_tls` only to this machine. Returns the
// exit code.
int RunLastReport(const std::vector<std::string>& arguments);

// Tries for `patience`; each try has a deadline of 5 s. Returns true once the scheduler has taken the report.
bool SendLastReport(const std::string& host, uint16_t port, const Security& security,
                    const v1::LastReportRequest& last_report, absl::Duration patience);

}  // namespace muster::agent
