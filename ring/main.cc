// ms-ring: reads its settings, the cluster file and the certificates, checks the ring, and reports the result. If the
// ring is good, it then runs the command.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/settings/preamble.h"
#include "common/settings/settings.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"
#include "common/sys/program.h"
#include "common/sys/wait.h"
#include "common/tls/tls_hand_over.h"
#include "common/tls/tls_store.h"
#include "ring/report.h"
#include "ring/ring_check.h"
#include "ring/ring_settings.h"
#include "ring/ring_tls.h"
#include "worker_agent/launch_error/execute.h"

namespace muster::ring {
namespace {

constexpr char kPassedVariable[] = "MUSTER_RING_PASSED";
constexpr absl::Duration kAfterYou = absl::Milliseconds(300);

int Fail(const std::string& text, int code) {
  std::fprintf(stderr, "ms-ring: %s\n", EscapeControl(text).c_str());
  return code;
}

int Fail(const absl::Status& status, int code) { return Fail(std::string(status.message()), code); }

// Writes the error file, so that the agent reports the faulty link as the cause of the job's failure, and not an exit
// code.
void WriteErrorFile(const std::map<std::string, std::string>& environment, const std::string& text) {
  const auto path = environment.find("TORCHELASTIC_ERROR_FILE");
  if (path == environment.end() || path->second.empty()) return;
  const nlohmann::ordered_json file = {{"message", {{"message", text}}}};
  const absl::Status written =
      ReplaceFile(path->second, file.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), 0600);
  if (!written.ok()) Fail(written, 0);
}

// Writes a file that shows the agent that the check has passed. If the agent starts this process again, it leaves the
// check out.
void SayPassed(const std::map<std::string, std::string>& environment) {
  const auto path = environment.find(kPassedVariable);
  if (path == environment.end()) return;
  const absl::Status written = ReplaceFile(path->second, "", 0600);
  if (!written.ok()) Fail(written, 0);
  unsetenv(kPassedVariable);
}

int Become(const std::vector<std::string>& command) {
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  agent::LaunchError error = agent::Explain(agent::Execute(command), command, "");
  error.text = absl::StrCat("can't start ", error.text);
  return Fail(agent::TextWithRemedy(error), error.exit_code);
}

// Returns null, without an error, if the peers have no certificates and TLS is not required.
absl::StatusOr<std::unique_ptr<RingTls>> OpenTls(const RingSettings& settings, const Plan& plan,
                                                 std::map<std::string, std::string>& environment) {
  ForbidCoreDumps();  // before anything secret is read; the command that runs later may dump core again
  TlsStore::Options options{TlsRole::kClient, settings.tls, PasswordFrom(environment, TlsRole::kClient)};
  WipePasswordVariables(environment);
  const absl::Time now = ToAbslTime(Clock::System().Read().wall);
  absl::StatusOr<std::optional<HandedOverTls>> handed = TakeHandedOverTls(now);
  if (!handed.ok()) return handed.status();
  if (plan.is_secure && handed->has_value()) {  // an agent runs this: use its certificate, which the peers expect
    return RingTls::Create(std::make_shared<const TlsState>(std::move((*handed)->state)), plan, now);
  }
  if (!plan.is_secure) {
    const bool leaves_machine = !plan.IsInsideMachine(plan.rank) || !plan.IsInsideMachine(plan.previous_rank());
    if (!settings.tls.is_on() && !(settings.tls.require_tls && leaves_machine)) return nullptr;
    return absl::FailedPreconditionError(
        "TLS is required, but the peer list has no certificates: start the agents with --tls_config");
  }
  if (!settings.tls.is_on()) {
    return absl::FailedPreconditionError(
        "the peers have certificates, but this rank has none: name the agent's TLS configuration with --tls_config");
  }
  CountedLog counted(Clock::System());
  const auto store = TlsStore::Open(std::move(options), Clock::System(), counted);
  if (!store.ok()) return store.status();
  return RingTls::Create((*store)->Current(), plan, (*store)->Now());
}

bool IsReporter(const Plan& plan, const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    if (fault.reporter == plan.rank) return true;
  }
  return false;
}

int Check(const RingSettings& settings, const std::vector<std::string>& command,
          std::map<std::string, std::string> environment) {
  const absl::StatusOr<std::string> text = ReadSmallFile(settings.cluster_file, kMaxClusterFileBytes);
  if (!text.ok()) return Fail(text.status(), kExitUsage);
  const absl::StatusOr<Plan> plan = ParsePlan(*text, settings.rank);
  if (!plan.ok())
    return Fail(absl::StrCat(settings.cluster_file, ": ", std::string(plan.status().message())), kExitUsage);
  const absl::StatusOr<std::unique_ptr<RingTls>> tls = OpenTls(settings, *plan, environment);
  if (!tls.ok()) {
    WriteErrorFile(environment, std::string(tls.status().message()));
    return Fail(tls.status(), kExitSecurity);
  }
  RingOptions options;
  options.bytes = settings.bytes;
  options.connect_timeout = settings.connect_timeout;
  options.step_timeout = settings.step_timeout;
  options.timeout = settings.timeout;
  options.slow_factor = settings.slow_factor;
  Checked checked{&*plan, options.bytes, {}};
  {
    const auto check = RingCheck::Create(*plan, tls->get(), options, Clock::System());
    if (!check.ok()) {
      WriteErrorFile(environment, std::string(check.status().message()));
      return Fail(check.status(), kExitJobFailed);
    }
    checked.result = (*check)->Run();
  }
  const bool is_good = checked.result.IsGood();
  if (settings.json) {
    std::fputs(EscapeJson(ReportJson(checked)).c_str(), stdout);
  } else if (!is_good || plan->rank == 0) {
    // If a command follows, stdout is for its output only.
    std::FILE* out = is_good && command.empty() ? stdout : stderr;
    std::fprintf(out, "ms-ring: %s", RenderHeadline(checked).c_str());
    if (command.empty() && plan->rank == 0) std::fputs(RenderLinks(checked).c_str(), out);
  }
  std::fflush(stdout);
  if (!is_good) {
    WriteErrorFile(environment, CauseText(checked));
    // All ranks report the same faults, and the first process that fails becomes the job's cause. So a rank that found
    // no fault itself waits, to let a rank at a faulty link fail first.
    if (!command.empty() && !IsReporter(*plan, checked.result.faults)) Pause(kAfterYou);
    return kExitJobFailed;
  }
  if (command.empty()) return kExitSuccess;
  SayPassed(environment);
  return Become(command);
}

int Main(const std::vector<std::string>& args) {
  BeginProgram("ms-ring");
  std::signal(SIGPIPE, SIG_IGN);
  RingSettings settings;
  SettingsTable table = RingSettingsTable(settings);
  const std::map<std::string, std::string> environment = ProcessEnvironment();
  const LoadResult loaded = LoadSettings(table, args, environment);
  if (const auto code = AnswerAtOnce(table, loaded)) return *code;
  for (const std::string& error : loaded.findings.errors) Fail(error, kExitUsage);
  if (!loaded.findings.errors.empty()) return kExitUsage;
  if (!loaded.positional.empty()) {
    return Fail(absl::StrCat("unexpected word ", loaded.positional[0], "; the command comes after --"), kExitUsage);
  }
  if (settings.cluster_file.empty()) {
    return Fail(
        "cluster_file: name the round's cluster file, or run this as a process of ms-worker, which sets "
        "MS_CLUSTER_FILE",
        kExitUsage);
  }
  if (settings.bytes % sizeof(float) != 0) return Fail("bytes: must be a multiple of 4", kExitUsage);
  const absl::Status logging = InitLogging({"ms-ring", "text", "warning", ""});
  if (!logging.ok()) return Fail(logging, kExitUsage);
  return Check(settings, loaded.command, environment);
}

}  // namespace
}  // namespace muster::ring

int main(int argc, char** argv) {
  muster::EndProgram(muster::ring::Main(std::vector<std::string>(argv + 1, argv + argc)));
}
