#include "ctl/commands/choose.h"

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/show/words.h"

namespace muster::ctl {

std::string JobNames(const v1::StatusReply& reply) {
  constexpr int kMost = 10;
  std::string out;
  for (int i = 0; i < reply.runs_size() && i < kMost; ++i) {
    absl::StrAppend(&out, out.empty() ? "" : ", ", EscapeControl(reply.runs(i).job_id()));
  }
  if (reply.runs_size() > kMost) absl::StrAppend(&out, " and ", reply.runs_size() - kMost, " more");
  return out.empty() ? "none" : out;
}

absl::StatusOr<std::optional<v1::RunStatus>> ChooseRun(const v1::StatusReply& reply, bool takes_ended) {
  v1::StatusReply live;
  const v1::RunStatus* latest = nullptr;
  for (const v1::RunStatus& run : reply.runs()) {
    if (!HasEnded(run.phase())) *live.add_runs() = run;
    if (latest == nullptr || run.opened_unix_ms() >= latest->opened_unix_ms()) latest = &run;
  }
  if (live.runs_size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(live.runs_size(), " jobs are going on (", JobNames(live),
                                                   "): name one after the command, or with --job"));
  }
  if (live.runs_size() == 1) return std::optional<v1::RunStatus>(live.runs(0));
  if (takes_ended && latest != nullptr) return std::optional<v1::RunStatus>(*latest);
  return std::optional<v1::RunStatus>();
}

}  // namespace muster::ctl
