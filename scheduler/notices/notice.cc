// The notices that events give:
//
//   event                                                             notice
//
//   run_failed, because the restart budget is used up                 budget_used_up
//   run_failed for another reason                                     job_failed
//   run_stopped                                                       job_stopped
//   round_aborted, round_stopped, process_restarted                   job_restarted, folded
//   round_closed, 5 minutes or more after the run was opened or its
//     last round was aborted                                          formed_late
//   node_lost                                                         node_lost, folded
//   stalled, process_halted, node_suspect                             the same word
//   any other event                                                   none
//
// How notices are folded, for each job and kind: the first event gives a notice at once. The events of the next minute
// give one notice together, when the minute is over. That notice begins the next minute. If the run ends within a
// minute, the notice of that minute's events comes at once, before the notice of the run's end.
#include "scheduler/notices/notice.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"

namespace muster::scheduler {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxForming = 4096;
constexpr size_t kMaxFolding = 4096;
constexpr size_t kMaxFoldedNames = 3;
constexpr size_t kMaxNamedBytes = 300;  // of each of the folded texts
constexpr char kNodeLost[] = "node_lost";
constexpr char kJobRestarted[] = "job_restarted";

std::string Line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Notice Make(const std::string& kind, const v1::JobEvent& event, uint64_t count = 1) {
  Json lines = Json::array();
  for (const std::string& line : event.last_lines()) lines.push_back(line);
  Json json{{"kind", kind},       {"text", event.text()},       {"job_id", event.job_id()},
            {"run", event.run()}, {"unix_ms", event.unix_ms()}, {"event", event.kind()},
            {"count", count},     {"last_lines", lines}};
  std::string text = Line(json);
  if (text.size() > kMaxNoticeBytes) {
    json["last_lines"] = Json::array();
    text = Line(json);
  }
  if (text.size() > kMaxNoticeBytes) {
    json["text"] = event.text().substr(0, 1000);
    text = Line(json);
  }
  return {kind, std::move(text)};
}

// True if the run failed because its restart budget is used up. Looks only at the beginning of the cause's text, which
// the core writes; the rest may quote a user's text.
bool IsBudgetUsedUp(const v1::JobEvent& event) {
  const std::string before = absl::StrCat(" (run ", event.run(), "): ");
  const size_t at = event.text().find(before);
  return at != std::string::npos &&
         absl::StartsWith(absl::string_view(event.text()).substr(at + before.size()), "gave up after ");
}

}  // namespace

bool GivesWay(const Notice& notice) {
  return notice.kind != "job_failed" && notice.kind != "job_stopped" && notice.kind != "budget_used_up" &&
         notice.kind != "certificate_ends";
}

std::vector<Notice> NoticeRules::Judge(const v1::JobEvent& event) {
  MutexLock lock(mutex_);
  const std::string& kind = event.kind();
  std::vector<Notice> notices;
  const bool is_abort = kind == "round_aborted" || kind == "round_stopped";
  if (kind == "run_opened" || is_abort) {
    if (forming_since_.size() < kMaxForming) forming_since_[event.job_id()] = event.unix_ms();
  }
  if (is_abort || kind == "process_restarted") Fold(kJobRestarted, event, notices);
  if (kind == "node_lost") Fold(kNodeLost, event, notices);
  if (kind == "stalled" || kind == "process_halted" || kind == "node_suspect") notices.push_back(Make(kind, event));
  if (kind == "round_closed") {
    const auto since = forming_since_.find(event.job_id());
    if (since == forming_since_.end()) return notices;
    const bool is_late = event.unix_ms() - since->second >= absl::ToInt64Milliseconds(kFormsLate);
    forming_since_.erase(since);
    if (is_late) notices.push_back(Make("formed_late", event));
  }
  if (kind == "run_succeeded" || kind == "run_stopped" || kind == "run_failed") {
    forming_since_.erase(event.job_id());
    for (const char* folded : {kNodeLost, kJobRestarted}) {
      const auto found = folding_.find({event.job_id(), folded});
      if (found == folding_.end()) continue;
      if (found->second.count > 0) notices.push_back(Together(found->first.second, found->second));
      folding_.erase(found);
    }
  }
  if (kind == "run_stopped") notices.push_back(Make("job_stopped", event));
  if (kind == "run_failed") notices.push_back(Make(IsBudgetUsedUp(event) ? "budget_used_up" : "job_failed", event));
  return notices;
}

// (If the clock was set back, the minute counts as over.)
bool NoticeRules::Folding::IsOver(int64_t now_unix_ms) const {
  return now_unix_ms < since_unix_ms || now_unix_ms - since_unix_ms >= absl::ToInt64Milliseconds(kFoldedFor);
}

void NoticeRules::Fold(const char* kind, const v1::JobEvent& event, std::vector<Notice>& notices) {
  const auto found = folding_.find({event.job_id(), kind});
  if (found == folding_.end() || (found->second.count == 0 && found->second.IsOver(event.unix_ms()))) {
    if (found != folding_.end() || folding_.size() < kMaxFolding) {
      folding_[{event.job_id(), kind}] = {event.unix_ms(), 0, {}, {}};
    }
    notices.push_back(Make(kind, event));
    return;
  }
  Folding& folding = found->second;
  if (folding.count++ == 0) folding.first = event;
  if (folding.named.size() >= kMaxFoldedNames) return;
  folding.named.push_back(event.text());
  CutText(folding.named.back(), kMaxNamedBytes);
}

Notice NoticeRules::Together(const std::string& kind, const Folding& folding) {
  if (folding.count == 1) return Make(kind, folding.first);
  v1::JobEvent event = folding.first;
  event.clear_last_lines();
  std::string text = kind == kNodeLost ? absl::StrCat(folding.count, " more nodes of job ", event.job_id(), " are lost")
                                       : absl::StrCat("job ", event.job_id(), " has ", folding.count, " more restarts");
  absl::StrAppend(&text, " within a minute: ", absl::StrJoin(folding.named, "; "));
  if (folding.count > folding.named.size())
    absl::StrAppend(&text, "; and ", folding.count - folding.named.size(), " more");
  event.set_text(std::move(text));
  return Make(kind, event, folding.count);
}

std::vector<Notice> NoticeRules::TakeFolded(int64_t now_unix_ms) {
  std::vector<Notice> notices;
  for (const auto& [kind, folding] : TakeOver(now_unix_ms)) notices.push_back(Together(kind, folding));
  return notices;
}

// (Returns the foldings instead of rendering them: rendering many takes a while, and the scheduler's loop must not wait
// for the lock.)
std::vector<std::pair<std::string, NoticeRules::Folding>> NoticeRules::TakeOver(int64_t now_unix_ms) {
  MutexLock lock(mutex_);
  std::vector<std::pair<std::string, Folding>> over;
  for (auto it = folding_.begin(); it != folding_.end();) {
    Folding& folding = it->second;
    const bool is_over = folding.IsOver(now_unix_ms);
    if (is_over && folding.count > 0) {
      over.emplace_back(it->first.second, std::exchange(folding, {now_unix_ms, 0, {}, {}}));
      ++it;
    } else {
      it = is_over ? folding_.erase(it) : std::next(it);
    }
  }
  return over;
}

std::optional<Notice> NoticeRules::JudgeCertificate(int64_t ends_unix_ms, int64_t now_unix_ms) {
  MutexLock lock(mutex_);
  if (ends_unix_ms == 0 || ends_unix_ms == notified_end_) return std::nullopt;
  const int64_t left_ms = ends_unix_ms - now_unix_ms;
  if (left_ms > absl::ToInt64Milliseconds(kCertificateEndsSoon)) return std::nullopt;
  notified_end_ = ends_unix_ms;
  const std::string when =
      absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixMillis(ends_unix_ms), absl::UTCTimeZone());
  return Notice{
      "certificate_ends",
      Line(Json{{"kind", "certificate_ends"},
                {"text", absl::StrCat("the scheduler's certificate ", left_ms > 0 ? "ends " : "ended ", when)},
                {"unix_ms", now_unix_ms},
                {"ends_unix_ms", ends_unix_ms}})};
}

}  // namespace muster::scheduler
