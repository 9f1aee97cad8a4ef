// What becomes of a line:
//
//   run_failed                             job_failed
//   run_failed, the cause is the budget    budget_used_up
//   round_aborted, process_restarted       job_restarted
//   round_closed, 5 min after the opening,
//     or after the round before was over   formed_late
//   node_lost                              node_lost
//   any other                              nothing
#include "scheduler/notices/notice.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostForming = 4096;

std::string Line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Notice Make(const char* kind, const v1::StoryEvent& event) {
  Json lines = Json::array();
  for (const std::string& line : event.last_lines()) lines.push_back(line);
  Json json{{"kind", kind},       {"text", event.text()},       {"job_id", event.job_id()},
            {"run", event.run()}, {"unix_ms", event.unix_ms()}, {"event", event.kind()},
            {"last_lines", lines}};
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

}  // namespace

std::optional<Notice> NoticeRules::Judge(const v1::StoryEvent& event) {
  const std::string& kind = event.kind();
  if (kind == "run_opened" || kind == "round_aborted") {
    if (forming_since_.size() < kMostForming) forming_since_[event.job_id()] = event.unix_ms();
  }
  if (kind == "round_aborted" || kind == "process_restarted") return Make("job_restarted", event);
  if (kind == "node_lost") return Make("node_lost", event);
  if (kind == "round_closed") {
    const auto since = forming_since_.find(event.job_id());
    if (since == forming_since_.end()) return std::nullopt;
    const bool is_late = event.unix_ms() - since->second >= absl::ToInt64Milliseconds(kFormsLate);
    forming_since_.erase(since);
    return is_late ? std::optional(Make("formed_late", event)) : std::nullopt;
  }
  if (kind == "run_succeeded" || kind == "run_failed") forming_since_.erase(event.job_id());
  if (kind != "run_failed") return std::nullopt;
  return Make(absl::StrContains(event.text(), "gave up after ") ? "budget_used_up" : "job_failed", event);
}

std::optional<Notice> NoticeRules::JudgeCertificate(int64_t ends_unix_ms, int64_t now_unix_ms) {
  if (ends_unix_ms == 0 || ends_unix_ms == told_end_) return std::nullopt;
  const int64_t left_ms = ends_unix_ms - now_unix_ms;
  if (left_ms > absl::ToInt64Milliseconds(kCertificateEndsSoon)) return std::nullopt;
  told_end_ = ends_unix_ms;
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
