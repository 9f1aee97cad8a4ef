// The commands that change a job. The scheduler accepts them over its Unix socket, or with an admin's certificate.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/net.h"
#include "common/show/json.h"
#include "common/show/words.h"
#include "ctl/commands/asking.h"
#include "ctl/commands/handlers.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {
namespace {

std::string ThisUser() { return absl::StrCat(LocalUserName(), "@", LocalHostName()); }

// Asks the scheduler for a steering action and prints its answer. For all actions except a restart, the command's
// argument is the node.
int Steer(Call& call, v1::SteerRequest::Action action) {
  const CtlSettings& settings = call.settings;
  const std::string& verb = call.command.name;
  const bool is_about_node = action != v1::SteerRequest::RESTART;
  if (is_about_node && call.argument.empty()) {
    return Usage(absl::StrCat(verb, ": name the node: ms-ctl ", verb, " NODE"));
  }
  const absl::StatusOr<Steered> steered =
      ChooseSteered(call, is_about_node ? absl::StrCat(verb, " a node of") : verb, settings.timeout);
  if (!steered.ok()) return Complain(steered.status());
  v1::SteerRequest request;
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  request.set_action(action);
  if (is_about_node) request.set_node_id(call.argument);
  request.set_reason(settings.reason);
  request.set_user(ThisUser());
  request.set_now(settings.now && action == v1::SteerRequest::DRAIN);
  const absl::StatusOr<v1::SteerReply> reply = steered->client->SteerRun(request);
  if (!reply.ok()) return Complain(reply.status());
  return Print(settings.json ? SteerJson(steered->job_id, *reply) : absl::StrCat(EscapeControl(reply->text()), "\n"));
}

// Returns why the user must confirm the stop of this run: the job was not named, or belongs to another user. Empty: no
// confirmation is needed.
std::string WhyAsk(const v1::RunStatus& run, bool is_named, const std::string& user) {
  const std::string owner = run.opened_by().substr(0, run.opened_by().rfind('@'));
  if (!owner.empty() && owner != user) return absl::StrCat("it belongs to user ", owner, ", and you are ", user);
  return is_named ? "" : "you did not name it";
}

// Asks the user on the terminal, and waits for the answer. Returns an error if the answer is not yes, or if standard
// input is no terminal; then the error says what to do.
absl::Status AskYes(const v1::RunStatus& run, const std::string& why) {
  const std::string what = EscapeControl(absl::StrCat("job ", run.job_id(), ", run ", run.run()));
  if (isatty(STDIN_FILENO) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, " was not stopped: ", why,
                     ", and there is no terminal to ask on: name the job and add --yes to stop it"));
  }
  std::fprintf(stderr, "Stop %s, opened by %s? (%s) [y/N] ", what.c_str(), EscapeControl(run.opened_by()).c_str(),
               EscapeControl(why).c_str());
  std::string line;
  std::getline(std::cin, line);
  const std::string answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(line));
  if (answer == "y" || answer == "yes") return absl::OkStatus();
  return absl::CancelledError(absl::StrCat(what, " goes on"));
}

// Returns OK if the run may be stopped: the user need not confirm it, or has confirmed it. Also returns OK for a run
// that has ended or is unknown: then the scheduler's answer to the stop says so.
absl::Status MayStop(Call& call, const std::string& job_id) {
  const CtlSettings& settings = call.settings;
  if (settings.yes) return absl::OkStatus();
  const absl::StatusOr<v1::StatusReply> status = call.client->GetStatus(job_id, settings.run);
  if (!status.ok() || status->runs().empty()) return absl::OkStatus();
  const v1::RunStatus& run = *status->runs().rbegin();
  if (HasEnded(run.phase())) return absl::OkStatus();
  const bool is_named = !settings.job_id.empty();
  const std::string why = WhyAsk(run, is_named, LocalUserName());
  return why.empty() ? absl::OkStatus() : AskYes(run, why);
}

}  // namespace

int StopJob(Call& call) {
  const CtlSettings& settings = call.settings;
  const absl::StatusOr<Steered> steered = ChooseSteered(call, "stop", settings.timeout);
  if (!steered.ok()) return Complain(steered.status());
  if (const absl::Status agreed = MayStop(call, steered->job_id); !agreed.ok()) return Complain(agreed);
  v1::StopRequest request;
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  request.set_reason(settings.reason.empty() ? "ms-ctl stop" : settings.reason);
  request.set_user(ThisUser());
  const absl::StatusOr<v1::StopReply> reply = steered->client->StopRun(request);
  if (!reply.ok()) return Complain(reply.status());
  if (settings.json) return Print(StopJson(steered->job_id, *reply));
  if (HasEnded(reply->phase())) {
    return Print(absl::StrCat("job ", steered->job_id, ", run ", reply->run(), " had already ended (",
                              PhaseWord(reply->phase()), ")\n"));
  }
  return Print(absl::StrCat("job ", steered->job_id, ", run ", reply->run(), " (", PhaseWord(reply->phase()),
                            ") is being stopped\n"));
}

int RestartJob(Call& call) { return Steer(call, v1::SteerRequest::RESTART); }
int FenceNode(Call& call) { return Steer(call, v1::SteerRequest::FENCE); }
int DrainNode(Call& call) { return Steer(call, v1::SteerRequest::DRAIN); }
int UndrainNode(Call& call) { return Steer(call, v1::SteerRequest::UNDRAIN); }

}  // namespace muster::ctl
