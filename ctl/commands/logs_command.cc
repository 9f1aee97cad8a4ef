// `ms-ctl logs RANK`: what a rank's process wrote last, and with -f what it writes from now on.
//
// With -f the process's place is kept between questions. Another start of the rank is told, and read from its
// beginning; what came faster than it could be asked for is told as left out. A scheduler or agent that is away for a
// moment is waited for; -f ends when the run is over.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"

namespace muster::ctl {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr absl::Duration kLogsTimeout = absl::Seconds(12);  // the scheduler answers within 10
constexpr absl::Duration kFollowInterval = absl::Milliseconds(500);
constexpr absl::Duration kFollowPatience = absl::Seconds(30);
constexpr uint32_t kUsualLines = 100;

std::string LogJson(const std::string& job_id, const v1::LogsReply& reply, int indent) {
  const v1::SlotLog& log = reply.log();
  const OrderedJson json{{"job_id", job_id},
                         {"run", reply.run()},
                         {"rank", reply.rank()},
                         {"node_id", reply.node_id()},
                         {"host_name", reply.host_name()},
                         {"round", log.round()},
                         {"attempt", log.attempt()},
                         {"pid", log.pid() == 0 ? OrderedJson() : OrderedJson(log.pid())},
                         {"has_ended", log.has_ended()},
                         {"has_gap", log.has_gap()},
                         {"text", log.text()},
                         {"unfinished", log.unfinished()},
                         {"end", log.end()},
                         {"log_file", log.log_file().empty() ? OrderedJson() : OrderedJson(log.log_file())},
                         {"note", log.note().empty() ? OrderedJson() : OrderedJson(log.note())}};
  return EscapeJson(json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace)) + "\n";
}

// The agent has cleaned the text, but it may not be our agent.
std::string Clean(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 ? byte != 0x7f : c == '\n' || c == '\t') out += c;
  }
  return out;
}

std::string WhoseText(const v1::LogsReply& reply) {
  const v1::SlotLog& log = reply.log();
  std::string who = absl::StrCat("rank ", reply.rank(), " on ", reply.host_name(), " (node ", reply.node_id(), ")");
  if (log.pid() != 0) absl::StrAppend(&who, ", pid ", log.pid());
  if (log.round() != 0) absl::StrAppend(&who, ", round ", log.round());
  if (log.attempt() > 0) absl::StrAppend(&who, ", attempt ", log.attempt());
  if (log.has_ended()) absl::StrAppend(&who, ", has ended");
  if (!log.log_file().empty()) absl::StrAppend(&who, "; all of it is in ", log.log_file());
  return EscapeControl(who);
}

class LogReader {
 public:
  LogReader(AdminClient& client, std::string job_id, const CtlSettings& settings, uint32_t rank)
      : client_(client), settings_(settings) {
    request_.set_job_id(std::move(job_id));
    request_.set_run(settings.run);
    request_.set_rank(rank);
    request_.set_lines(settings.lines == 0 ? kUsualLines : settings.lines);
  }

  absl::Status Once(bool is_following) {
    const absl::StatusOr<v1::LogsReply> reply = client_.GetLogs(request_);
    if (!reply.ok()) return reply.status();
    const v1::SlotLog& log = reply->log();
    const bool is_new = log.round() != request_.round() || log.attempt() != request_.attempt();
    if (settings_.json) {
      if (!is_following || is_new || !log.text().empty())
        Print(LogJson(request_.job_id(), *reply, is_following ? -1 : 2));
    } else {
      Show(*reply, is_new, is_following);
    }
    request_.set_run(reply->run());
    request_.set_round(log.round());
    request_.set_attempt(log.attempt());
    request_.set_after(log.end());
    request_.set_lines(kMaxLogLines);
    return absl::OkStatus();
  }

 private:
  void Show(const v1::LogsReply& reply, bool is_new, bool is_following) const {
    const v1::SlotLog& log = reply.log();
    if (is_new || request_.round() == 0) {
      if (!is_following || is_new) std::fprintf(stderr, "ms-ctl: %s\n", WhoseText(reply).c_str());
      if (!log.note().empty() && !is_following) std::fprintf(stderr, "ms-ctl: %s\n", EscapeControl(log.note()).c_str());
    } else if (log.has_gap()) {
      std::fprintf(stderr, "ms-ctl: lines are left out here: it writes faster than they can be asked for\n");
    }
    Print(Clean(log.text()));
    if (!is_following && !log.unfinished().empty()) Print(Clean(log.unfinished()) + "\n");
  }

  AdminClient& client_;
  const CtlSettings& settings_;
  v1::LogsRequest request_;
};

// Its run has ended, or is forgotten: nothing more will come.
bool IsOver(AdminClient& client, const std::string& job_id, uint64_t run) {
  const absl::StatusOr<v1::StatusReply> status = client.GetStatus(job_id, run);
  if (absl::IsNotFound(status.status())) return true;
  if (!status.ok()) return false;
  if (status->runs().empty()) return true;
  const v1::RunPhase phase = status->runs().rbegin()->phase();
  return phase == v1::RUN_PHASE_SUCCEEDED || phase == v1::RUN_PHASE_FAILED;
}

int Follow(LogReader& reader, AdminClient& client, const std::string& job_id, uint64_t run) {
  MonotonicTime heard = Clock::System().Read().monotonic;
  while (true) {
    absl::SleepFor(kFollowInterval);
    const absl::Status status = reader.Once(/*is_following=*/true);
    const MonotonicTime now = Clock::System().Read().monotonic;
    if (status.ok()) {
      heard = now;
      continue;
    }
    if (absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status)) return Complain(status);
    if (IsOver(client, job_id, run)) return kExitSuccess;
    if (now - heard > kFollowPatience) return Complain(status);
  }
}

}  // namespace

int ShowLogs(Call& call) {
  const CtlSettings& settings = call.settings;
  uint32_t rank = 0;
  if (!absl::SimpleAtoi(call.argument, &rank) || rank >= kMaxWorkers) {
    return Usage(
        absl::StrCat("logs: '", call.argument, "' is no rank; write ms-ctl logs RANK, as in ms-ctl logs 3 -f"));
  }
  const absl::StatusOr<Steered> steered =
      ChooseSteered(call, "read the logs of", std::max(settings.timeout, kLogsTimeout));
  if (!steered.ok()) return Complain(steered.status());
  LogReader reader(*steered->client, steered->job_id, settings, rank);
  if (const absl::Status status = reader.Once(/*is_following=*/false); !status.ok()) {
    if (!settings.follow || !absl::IsFailedPrecondition(status) ||
        IsOver(*steered->client, steered->job_id, settings.run)) {
      return Complain(status);
    }
  }
  return settings.follow ? Follow(reader, *steered->client, steered->job_id, settings.run) : kExitSuccess;
}

}  // namespace muster::ctl
