// `ms-ctl ping`: checks whether this machine can reach the scheduler, and if it can't, what the problem is.
//
//   check    what it checks                                      the problem, and its level
//
//   name     the host name has addresses                         none: error
//   tcp      a connection to each of the addresses               some fail: warning; all fail: error
//   tls      the TLS handshake, and the end of both sides'       the handshake fails: error;
//            certificates                                        a certificate ends within a week: warning
//   version  the versions of the scheduler and of ms-ctl         more than one minor version apart: warning
//   clock    the wall clocks of both machines                    more than a second apart: warning
//   udp      whether a datagram to the port is refused           it is refused: warning
//
// It stops after the first error. Exit code: 0 without an error, 15 if TLS failed, 10 after any other error.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/base/version.h"
#include "common/net/net.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"
#include "ctl/commands/ping/network.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kMaxClockDifference = absl::Seconds(1);
constexpr absl::Duration kEndsSoon = absl::Hours(7 * 24);

// Collects the results of the checks, and prints a line for each, with the remedy.
class Checks {
 public:
  void Ok(const char* name, std::string text) { checks_.push_back({name, "ok", std::move(text)}); }
  void Warning(const char* name, std::string text, std::string remedy) {
    checks_.push_back({name, "warning", std::move(text), std::move(remedy)});
  }
  void Error(const char* name, std::string text, std::string remedy) {
    checks_.push_back({name, "error", std::move(text), std::move(remedy)});
  }

  std::string AsText() const;
  // `scheduler`: the address that was checked.
  std::string AsJson(const std::string& scheduler) const;

 private:
  struct Check {
    const char* name;
    const char* level;  // "ok", "warning", "error"
    std::string text;
    std::string remedy = {};  // empty if the level is "ok"
  };

  std::vector<Check> checks_;
};

std::string Checks::AsText() const {
  std::string out;
  for (const Check& check : checks_) {
    absl::StrAppendFormat(&out, "%-8s %-8s %s\n", check.name, check.level, EscapeControl(check.text));
    if (!check.remedy.empty()) absl::StrAppendFormat(&out, "%18s%s\n", "", check.remedy);
  }
  return out;
}

std::string Checks::AsJson(const std::string& scheduler) const {
  auto checks = nlohmann::ordered_json::array();
  for (const Check& check : checks_) {
    checks.push_back(
        {{"check", check.name},
         {"level", check.level},
         {"text", check.text},
         {"remedy", check.remedy.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(check.remedy)}});
  }
  const nlohmann::ordered_json all{{"scheduler", scheduler}, {"checks", checks}};
  return EscapeJson(all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

class Ping {
 public:
  explicit Ping(Call& call) : call_(call), settings_(call.settings) {}

  int Run() {
    const int code = Look();
    Print(settings_.json ? checks_.AsJson(JoinHostPort(settings_.sched_host, settings_.sched_port)) : checks_.AsText());
    return code;
  }

 private:
  int Look() {
    const absl::StatusOr<std::vector<IpAddress>> addresses = ResolveHost(settings_.sched_host);
    if (!addresses.ok()) {
      checks_.Error("name", std::string(addresses.status().message()),
                    "name the scheduler's machine with --sched_host (MS_SCHED_HOST), or give its address");
      return kExitUnreachable;
    }
    checks_.Ok("name", absl::StrCat(settings_.sched_host, " is ",
                                    absl::StrJoin(*addresses, ", ", [](std::string* out, const IpAddress& address) {
                                      absl::StrAppend(out, address.ToString());
                                    })));
    if (!ConnectToEach(*addresses)) return kExitUnreachable;
    return AskScheduler();
  }

  bool ConnectToEach(const std::vector<IpAddress>& addresses) {
    std::vector<std::pair<std::string, int>> failed;  // the address with the port, and the errno
    for (const IpAddress& address : addresses) {
      const MonotonicTime begin = Clock::System().Read().monotonic;
      const int error = ErrorOfConnecting(address, settings_.sched_port, settings_.timeout);
      const std::string end = JoinHostPort(address.ToString(), settings_.sched_port);
      if (error == 0) {
        const absl::Duration took = Clock::System().Read().monotonic - begin;
        checks_.Ok("tcp",
                   absl::StrFormat("%s accepts a connection within %.1f ms", end, absl::ToDoubleMilliseconds(took)));
        if (!reached_) reached_ = address;
      } else {
        failed.emplace_back(end, error);
      }
    }
    for (const auto& [end, error] : failed) {
      const std::string text = absl::StrCat(end, ": ", std::strerror(error));
      reached_ ? checks_.Warning("tcp", text, RemedyOf(error)) : checks_.Error("tcp", text, RemedyOf(error));
    }
    return reached_.has_value();
  }

  int AskScheduler() {
    // (Without a fallback to the Unix socket: this checks whether the port answers.)
    auto client = AdminClient::OverTcp(settings_.sched_host, settings_.sched_port, settings_.timeout,
                                       SecurityOf(settings_, call_.tls), {}, settings_.job_id);
    const int64_t before = NowUnixMs();
    absl::StatusOr<v1::StatusReply> status = client.ok() ? (*client)->GetStatus("", 0) : client.status();
    const int64_t after = NowUnixMs();
    if (!status.ok()) {
      const bool is_security = absl::IsUnauthenticated(status.status()) || absl::IsPermissionDenied(status.status());
      checks_.Error("tls", std::string(status.status().message()),
                    call_.tls == nullptr ? "give ms-ctl the certificates of this cluster (--tls_config), if it has some"
                                         : "look at the certificates: ms-ctl certs show FOLDER");
      return is_security ? kExitSecurity : kExitUnreachable;
    }
    LookAtCertificates(**client);
    LookAtVersion(status->version());
    if (status->now_unix_ms() != 0) LookAtClock(status->now_unix_ms(), before, after);
    LookForUdp();
    return kExitSuccess;
  }

  void LookAtCertificates(AdminClient& client) {
    if (call_.tls == nullptr) {
      checks_.Ok("tls", "none: the scheduler accepts plain text, which others on the network can read");
      return;
    }
    absl::Time ends = absl::InfiniteFuture();
    std::string whose;
    const auto note = [&](absl::Time end, const std::string& name) {
      if (end < ends) ends = end, whose = name;
    };
    if (const auto& identity = call_.tls->Current()->identity) note(identity->leaf().NotAfter(), "ours");
    if (const auto counters = client.GetCounters(); counters.ok() && counters->certificate_ends_unix_ms() != 0) {
      note(absl::FromUnixMillis(counters->certificate_ends_unix_ms()), "the scheduler's");
    }
    std::string text = "both sides' certificates are good";
    if (ends != absl::InfiniteFuture()) {
      absl::StrAppend(&text, "; the first to end is ", whose, ", ",
                      absl::FormatTime("%Y-%m-%d %H:%M:%S", ends, absl::LocalTimeZone()));
    }
    if (ends - absl::FromUnixMillis(NowUnixMs()) < kEndsSoon) {
      checks_.Warning("tls", text, "make new ones: ms-ctl certs renew NAME");
    } else {
      checks_.Ok("tls", text);
    }
  }

  void LookAtVersion(const std::string& theirs) {
    const std::string text = absl::StrCat(theirs, theirs == kVersion ? ", as here" : absl::StrCat("; here ", kVersion));
    if (AreMinorVersionsApart(theirs, kVersion)) {
      checks_.Warning("version", text,
                      "bring both to the same version: neighbouring minor versions work together, others may not");
    } else {
      checks_.Ok("version", text);
    }
  }

  static bool AreMinorVersionsApart(const std::string& a, const std::string& b) {
    const std::vector<std::string> as = absl::StrSplit(a, '.'), bs = absl::StrSplit(b, '.');
    int minor_a = 0, minor_b = 0;
    if (as.size() < 2 || bs.size() < 2 || as[0] != bs[0]) return true;
    return !absl::SimpleAtoi(as[1], &minor_a) || !absl::SimpleAtoi(bs[1], &minor_b) || std::abs(minor_a - minor_b) > 1;
  }

  // `theirs`: the scheduler's time, which it read at some moment between our request (`before`) and its reply
  // (`after`).
  void LookAtClock(int64_t theirs, int64_t before, int64_t after) {
    const int64_t apart = theirs < before ? theirs - before : std::max<int64_t>(theirs - after, 0);
    const std::string text =
        apart == 0 ? "the scheduler's agrees with ours, as far as the time of one answer shows"
                   : absl::StrFormat("the scheduler's is %.3f s %s ours", static_cast<double>(std::abs(apart)) / 1000,
                                     apart < 0 ? "behind" : "ahead of");
    if (absl::Milliseconds(std::abs(apart)) > kMaxClockDifference) {
      checks_.Warning("clock", text,
                      "set the clocks (chrony, NTP): log lines of two machines can't be put in order, and "
                      "certificates may seem not yet valid, or expired");
    } else {
      checks_.Ok("clock", text);
    }
  }

  void LookForUdp() {
    const int error = ErrorOfDatagrams(*reached_, settings_.sched_port);
    if (error == 0) {
      checks_.Ok("udp", absl::StrCat("nothing refuses datagrams to port ", settings_.sched_port));
    } else {
      checks_.Warning(
          "udp", absl::StrCat("datagrams to port ", settings_.sched_port, " are refused: ", std::strerror(error)),
          "let UDP through to this port, too: without it heartbeats go over the stream, which costs the scheduler "
          "more (nothing is wrong if it has --heartbeat_datagrams=false)");
    }
  }

  static int64_t NowUnixMs() { return Clock::System().Read().wall.unix_ms; }

  Call& call_;
  const CtlSettings& settings_;
  Checks checks_;
  std::optional<IpAddress> reached_;  // the first address that accepts a connection
};

}  // namespace

int PingScheduler(Call& call) {
  const int code = PrepareCalls(call);
  return code == kExitSuccess ? Ping(call).Run() : code;
}

}  // namespace muster::ctl
