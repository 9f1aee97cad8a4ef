#include "scheduler/core/facts/cause.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/causes/outcome.h"
#include "scheduler/core/facts/diagnosis.h"
#include "scheduler/core/facts/stack_groups.h"

namespace muster::scheduler {
namespace {

enum Priority { kDecision = 0, kLostOrSignaled = 1, kErrorMessage = 2, kExitCode = 3, kConsequence = 4 };

constexpr absl::string_view kNotStarted = " could not be started";
constexpr absl::string_view kEndedWith = " ended with exit code ";
constexpr absl::string_view kKilledBy = " was killed by ";
constexpr absl::string_view kEndedByRule = " was ended by --fail_on";

// Returns how the process ended, without a quote of its output: the caller adds the quote after a colon.
std::string EndText(const v1::ProcessEnded& ended) {
  if (!ended.launch_error().empty()) return std::string(kNotStarted);
  if (!ended.failing_line().empty()) return std::string(kEndedByRule);
  if (ended.signal() == 0) return absl::StrCat(kEndedWith, ended.exit_code());
  return absl::StrCat(kKilledBy, SignalName(ended.signal()), ended.core_dumped() ? " (core dumped)" : "");
}

int PriorityOf(const v1::ProcessEnded& ended, const Diagnosis& diagnosis) {
  if (!ended.launch_error().empty()) return kErrorMessage;
  if (IsOfAPeer(diagnosis.reason)) return kConsequence;
  if (!ended.failing_line().empty() || !ended.kernel_lines().empty()) return kErrorMessage;
  if (ended.signal() != 0) return kLostOrSignaled;
  return ended.error_message().empty() ? kExitCode : kErrorMessage;
}

}  // namespace

std::string WithoutQuote(const std::string& text) {
  size_t end = std::string::npos;
  for (const absl::string_view words : {kNotStarted, kEndedWith, kKilledBy, kEndedByRule, absl::string_view(kElsewhere),
                                        absl::string_view(kSamePlace), absl::string_view(kPlaces)}) {
    end = std::min(end, text.find(words.data(), 0, words.size()));
  }
  return end == std::string::npos ? text : text.substr(0, text.find(": ", end));
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? absl::StrCat("SIG", name) : absl::StrCat("signal ", signal);
}

CauseCandidate CandidateFrom(const Run& run, const Node& node, uint32_t rank, const v1::ProcessEnded& ended,
                             MonotonicTime died) {
  CauseCandidate candidate;
  candidate.died = died;
  v1::Cause& cause = candidate.cause;
  const Diagnosis diagnosis = run.candidates.size() < kMaxCandidates ? Diagnose(ended) : Diagnosis{};
  candidate.priority = PriorityOf(ended, diagnosis);
  cause.set_kind(!ended.launch_error().empty() ? v1::Cause::LAUNCH_FAILED
                 : ended.signal() != 0         ? v1::Cause::PROCESS_SIGNALED
                                               : v1::Cause::PROCESS_EXITED);
  cause.set_reason(diagnosis.reason);
  if (!ended.launch_error().empty()) {
    std::string remedy = absl::StrReplaceAll(ended.launch_remedy(), {{"{host}", node.record().info.host_name()}});
    CutText(remedy, 2 * kMaxShortTextBytes);  // a hostile agent may send "{host}" many times
    cause.set_remedy(std::move(remedy));
  }
  cause.set_text(absl::StrCat(node.record().info.role() == v1::ROLE_SERVER ? "server rank " : "rank ", rank, " on ",
                              node.record().info.host_name(), " (node ", node.record().id, ")", EndText(ended),
                              diagnosis.what.empty() ? "" : ": ", diagnosis.what));
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

CauseCandidate CandidateFrom(const Node& node, v1::Cause::Kind kind, const std::string& why, int signal,
                             MonotonicTime died) {
  CauseCandidate candidate;
  candidate.died = died;
  candidate.priority = kind == v1::Cause::NODE_LEFT && signal == 0 ? kConsequence : kLostOrSignaled;
  v1::Cause& cause = candidate.cause;
  cause.set_kind(kind);
  const std::string ranks = FormatRanks(RanksOf(node));
  cause.set_text(absl::StrCat(
      NodeText(node),
      ranks.empty()
          ? ""
          : absl::StrCat(ranks.find_first_of(",-") == std::string::npos ? " with rank " : " with ranks ", ranks),
      kind == v1::Cause::NODE_LEFT ? " left: " : " is lost: ", why));
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

std::string RestartInWords(const v1::Cause& cause, uint32_t recent_restarts, uint32_t max_restarts) {
  if (IsPlannedStop(cause) || recent_restarts == 0) return "";
  return absl::StrCat("restart ", recent_restarts, " of ", max_restarts);
}

bool IsInPlannedStop(const Run& run) {
  const RunRecord& record = run.record();
  if (record.phase == v1::RUN_PHASE_RECOVERING) return record.last_abort && IsPlannedStop(*record.last_abort);
  return record.phase == v1::RUN_PHASE_STOPPING && record.first_failure && IsPlannedStop(*record.first_failure);
}

const CauseCandidate& ChooseCause(const std::vector<CauseCandidate>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(), [](const CauseCandidate& a, const CauseCandidate& b) {
    return std::make_tuple(a.priority, a.died) < std::make_tuple(b.priority, b.died);
  });
}

}  // namespace muster::scheduler
