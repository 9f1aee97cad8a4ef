#include "scheduler/core/lifecycle/cause.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "scheduler/core/membership/admission.h"

namespace muster::scheduler {
namespace {

enum Priority { kDecision = 0, kLostOrSignaled = 1, kErrorMessage = 2, kExitCode = 3, kNodeLeft = 4 };

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? absl::StrCat("SIG", name) : absl::StrCat("signal ", signal);
}

CauseCandidate CandidateFrom(const Node& node, uint32_t rank, const v1::ProcessEnded& ended, MonotonicTime died) {
  CauseCandidate candidate;
  candidate.died = died;
  v1::Cause& cause = candidate.cause;
  const std::string who = absl::StrCat(node.record().info.role() == v1::ROLE_SERVER ? "server rank " : "rank ", rank,
                                       " on ", node.record().info.host_name(), " (node ", node.record().id, ")");
  if (!ended.launch_error().empty()) {
    candidate.priority = kErrorMessage;
    cause.set_kind(v1::Cause::LAUNCH_FAILED);
    cause.set_text(absl::StrCat(who, " could not be started: ", ended.launch_error()));
  } else if (ended.signal() != 0) {
    candidate.priority = kLostOrSignaled;
    cause.set_kind(v1::Cause::PROCESS_SIGNALED);
    cause.set_text(
        absl::StrCat(who, " was killed by ", SignalName(ended.signal()), ended.core_dumped() ? " (core dumped)" : ""));
  } else {
    candidate.priority = ended.error_message().empty() ? kExitCode : kErrorMessage;
    cause.set_kind(v1::Cause::PROCESS_EXITED);
    cause.set_text(absl::StrCat(who, " ended with exit code ", ended.exit_code(),
                                ended.error_message().empty() ? "" : ": ", FirstLine(ended.error_message())));
  }
  cause.set_rank(rank);
  cause.set_role(node.record().info.role());
  cause.set_node_id(node.record().id);
  cause.set_host_name(node.record().info.host_name());
  cause.set_exit_code(ended.exit_code());
  cause.set_signal(ended.signal());
  *cause.mutable_last_lines() = ended.last_lines();
  cause.set_log_file(ended.log_file());
  return candidate;
}

CauseCandidate CandidateFrom(const Node& node, v1::Cause::Kind kind, const std::string& reason, int signal,
                             MonotonicTime died) {
  CauseCandidate candidate;
  candidate.died = died;
  candidate.priority = kind == v1::Cause::NODE_LEFT && signal == 0 ? kNodeLeft : kLostOrSignaled;
  v1::Cause& cause = candidate.cause;
  cause.set_kind(kind);
  const std::string ranks = FormatRanks(RanksOf(node));
  cause.set_text(absl::StrCat(
      NodeText(node),
      ranks.empty()
          ? ""
          : absl::StrCat(ranks.find_first_of(",-") == std::string::npos ? " with rank " : " with ranks ", ranks),
      kind == v1::Cause::NODE_LEFT ? " left: " : " is lost: ", reason));
  cause.set_role(node.record().info.role());
  cause.set_node_id(node.record().id);
  cause.set_host_name(node.record().info.host_name());
  cause.set_signal(signal);
  return candidate;
}

CauseCandidate Decision(v1::Cause::Kind kind, std::string text, std::string remedy, MonotonicTime now) {
  CauseCandidate candidate;
  candidate.died = now;
  candidate.priority = kDecision;
  candidate.cause.set_kind(kind);
  candidate.cause.set_text(std::move(text));
  candidate.cause.set_remedy(std::move(remedy));
  return candidate;
}

const CauseCandidate& ChooseCause(const std::vector<CauseCandidate>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(), [](const CauseCandidate& a, const CauseCandidate& b) {
    return std::make_tuple(a.priority, a.died) < std::make_tuple(b.priority, b.died);
  });
}

}  // namespace muster::scheduler
