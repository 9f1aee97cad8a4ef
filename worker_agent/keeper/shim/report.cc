#include "worker_agent/keeper/shim/report.h"

#include <sys/socket.h>

#include <cerrno>

namespace muster::agent {

ShimReport MakeShimReport(ShimReport::Kind kind, int32_t value, std::string_view text, std::string_view reason,
                          std::string_view remedy) {
  ShimReport report;
  report.kind = kind;
  report.value = value;
  text.copy(report.text, sizeof report.text - 1);
  reason.copy(report.reason, sizeof report.reason - 1);
  remedy.copy(report.remedy, sizeof report.remedy - 1);
  return report;
}

void SendShimReport(int socket, const ShimReport& report) {
  const bool must_arrive = report.kind == ShimReport::kStarted || report.kind == ShimReport::kNotStarted ||
                           report.kind == ShimReport::kEnded;
  // Any other report is dropped if the socket is full, because a shim that blocks does not watch the fence.
  const int flags = MSG_NOSIGNAL | (must_arrive ? 0 : MSG_DONTWAIT);
  [[maybe_unused]] const ssize_t sent = ::send(socket, &report, sizeof report, flags);
}

std::vector<ShimReport> ReadShimReports(int socket, bool& is_open) {
  std::vector<ShimReport> reports;
  while (true) {
    ShimReport report;
    const ssize_t n = ::recv(socket, &report, sizeof report, MSG_DONTWAIT);
    // ECONNRESET comes once: the shim ended without reading all its orders. The reports that it sent before that still
    // follow.
    if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    is_open = n > 0 || (n < 0 && errno == EAGAIN);
    if (n != sizeof report) return reports;
    for (char* end : {&report.text[sizeof report.text - 1], &report.reason[sizeof report.reason - 1],
                      &report.remedy[sizeof report.remedy - 1]}) {
      *end = '\0';
    }
    reports.push_back(report);
  }
}

}  // namespace muster::agent
