#include "common/settings/cluster_settings.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/limits.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"
#include "common/settings/values.h"

namespace muster {

Setting& AddCheckedText(SettingsTable& table, std::string flag, std::string* value, TextRule rule, std::string help) {
  Setting& setting = table.AddString(std::move(flag), value, std::move(help));
  setting.parse = [value, rule](const std::string& text) {
    absl::Status status = rule(text);
    if (status.ok()) *value = text;
    return status;
  };
  return setting;
}

absl::Status CheckHost(const std::string& text) {
  if (const auto address = IpAddress::Parse(text)) {
    return IsLinkLocal(*address) ? absl::InvalidArgumentError(kNoLinkLocal) : absl::OkStatus();
  }
  if (absl::StrContains(text, ":")) {
    return absl::InvalidArgumentError("must be a host name or numeric address without a port");
  }
  bool is_name = !text.empty() && text.size() <= kMaxHostNameBytes && text[0] != '-';
  for (const char c : text) is_name = is_name && (absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_');
  if (!is_name) return absl::InvalidArgumentError("must be a host name or a numeric IPv4 or IPv6 address");
  return absl::OkStatus();
}

Setting& AddJobId(SettingsTable& table, std::string* value) {
  return AddCheckedText(table, "job_id", value, CheckId, "Name of the job. One scheduler serves many jobs.")
      .Value("ID")
      .Env({"MS_JOB_ID"})
      .Alias({"rdzv_id"});
}

Setting& AddWorkerNum(SettingsTable& table, std::optional<uint32_t>* value) {
  return table
      .AddOptionalUint("worker_num", value, 1, kMaxWorkers, "Number of workers of the whole job, over all nodes.")
      .Env({"MS_WORKER_NUM"});
}

Setting& AddServerNum(SettingsTable& table, std::optional<uint32_t>* value) {
  return table
      .AddOptionalUint("server_num", value, 0, kMaxWorkers, "Number of parameter servers of the job, over all nodes.")
      .Env({"MS_SERVER_NUM"})
      .Default("0");
}

Setting& AddHcclCmInit(SettingsTable& table, std::optional<bool>* value) {
  Setting& setting = table.AddOptionalBool(
      "hccl_cm_init", value, "1 gives ranks in the order of the nodes' addresses. Any other value does not.");
  setting.parse = [value](const std::string& text) {
    const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
    *value = word == "1" || word == "true";
    return absl::OkStatus();
  };
  return setting.Env({"MS_HCCL_CM_INIT"});
}

Setting& AddTopoTimeout(SettingsTable& table, std::optional<absl::Duration>* value) {
  return table
      .AddOptionalSeconds("topo_timeout", value, absl::Milliseconds(100), kMaxTimeout, true,
                          "Time within which all nodes must join. After that the job fails.")
      .Env({"MS_TOPO_TIMEOUT"})
      .Alias({"cluster_time_out"})
      .Default(ShowDuration(kDefaultTopoTimeout));
}

Setting& AddReceiveMsgTimeout(SettingsTable& table, absl::Duration* value) {
  return table
      .AddSeconds("receive_msg_timeout", value, absl::Milliseconds(100), kMaxTimeout,
                  "Time to wait for the answer to a request, at most 30 s.")
      .Env({"MS_RECEIVE_MSG_TIMEOUT"});
}

Setting& AddStopTimeout(SettingsTable& table, absl::Duration* value) {
  return table
      .AddSeconds("stop_timeout", value, absl::ZeroDuration(), kMaxTimeout,
                  "How long a process may take to end after the stop signal. Then it is killed.")
      .Env({"MS_STOP_TIMEOUT"});
}

Setting& AddFenceStopTimeout(SettingsTable& table, std::optional<absl::Duration>* value) {
  return table
      .AddOptionalSeconds(
          "fence_stop_timeout", value, absl::ZeroDuration(), kMaxTimeout, false,
          "The same when the fence ends the processes of a node that no scheduler answers. A checkpoint "
          "that they still save counts for nothing, because others go on without them.")
      .Env({"MS_FENCE_STOP_TIMEOUT"})
      .Default("5 s, or stop_timeout if that is shorter");
}

namespace {

void AddStalls(SettingsTable& table, StallSettings* stalls) {
  table
      .AddOptionalSeconds("progress_timeout", &stalls->progress_timeout, absl::Seconds(1), kMaxTimeout, false,
                          "How long a process may make no progress between two steps. Then the job fails (see "
                          "stall_action). It applies to "
                          "processes that have shown progress, by MS_PROGRESS_FILE or by ms-worker's --expect.")
      .Env({"MS_PROGRESS_TIMEOUT"})
      .Default("off");
  table
      .AddOptionalSeconds("first_progress_timeout", &stalls->first_progress_timeout, absl::Seconds(1), kMaxTimeout,
                          false,
                          "How long the processes may take until one of them shows progress, after each start. Then "
                          "the job fails (see stall_action).")
      .Env({"MS_FIRST_PROGRESS_TIMEOUT"})
      .Default("off");
  Setting action;
  action.flag = "stall_action";
  action.value_name = absl::StrCat(kStallEnd, "|", kStallReport);
  action.help =
      "What happens when progress_timeout or first_progress_timeout is over. end: the processes are ended, and with "
      "recovery the job restarts. report: only the log, a notice and ms-ctl why say so.";
  action.default_text = kStallEnd;
  action.env = {"MS_STALL_ACTION"};
  action.parse = [stalls](const std::string& text) -> absl::Status {
    if (text != kStallEnd && text != kStallReport) {
      return absl::InvalidArgumentError(absl::StrCat("must be one of: ", kStallEnd, ", ", kStallReport));
    }
    stalls->action = text;
    return absl::OkStatus();
  };
  action.show = [stalls] { return stalls->action.value_or(""); };
  table.Add(std::move(action));
}

}  // namespace

void AddRecovery(SettingsTable& table, std::optional<bool>* enable, std::string* path,
                 std::optional<uint32_t>* max_restarts, std::optional<std::string>* scope, StallSettings* stalls) {
  table
      .AddOptionalBool("enable_recovery", enable,
                       "Restarts the job when a process or a node fails, instead of ending it.")
      .Env({"MS_ENABLE_RECOVERY"})
      .Common();
  table.AddString("recovery_path", path, "Folder for the state that a scheduler or an agent needs after its restart.")
      .Value("FOLDER")
      .Default("the state folder of the user or service")
      .Absolute()
      .Env({"MS_RECOVERY_PATH"});
  table
      .AddOptionalUint(
          "max_restarts", max_restarts, 0, kMaxRestarts,
          "Number of restarts that the job may have within an hour, over all nodes. The next failure ends it.")
      .Env({"MS_MAX_RESTARTS"})
      .Default("3 with recovery, else 0")
      .Common();

  Setting restart_scope;
  restart_scope.flag = "restart_scope";
  restart_scope.value_name = "job|worker";
  restart_scope.help = "What restarts after a process has failed: the whole job, or only that process.";
  restart_scope.default_text = "job";
  restart_scope.env = {"MS_RESTART_SCOPE"};
  restart_scope.parse = [scope](const std::string& text) -> absl::Status {
    if (text != "job" && text != "worker") return absl::InvalidArgumentError("must be one of: job, worker");
    *scope = text;
    return absl::OkStatus();
  };
  restart_scope.show = [scope] { return scope->value_or(""); };
  table.Add(std::move(restart_scope));
  AddStalls(table, stalls);
}

Setting& AddLogFormat(SettingsTable& table, std::string* value) {
  return table
      .AddChoice("log_format", value, {"text", "json"}, "Format of log lines: text, or one JSON object per line.")
      .Env({"MS_LOG_FORMAT"});
}

Setting& AddLogLevel(SettingsTable& table, std::string* value) {
  return table
      .AddChoice("log_level", value, {"debug", "info", "warning", "error"},
                 "Lowest severity that is logged: debug, info, warning or error.")
      .Value("LEVEL")
      .Env({"MS_LOG_LEVEL"});
}

Setting& AddCheckConfig(SettingsTable& table, bool* value) {
  return table.AddBool("check_config", value,
                       "Prints the value and the source of each setting, and the timeouts, and exits.");
}

}  // namespace muster
