#include "scheduler/frontend/effect_sink.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
void RpcEffectSink::OnSend(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message) {
  if (message->has_refusal()) {
    const v1::Refusal& refusal = message->refusal();
    const std::string kind = refusal.limit().empty()
                                 ? absl::StrCat("refused ", v1::Refusal::Reason_Name(refusal.reason()))
                                 : absl::StrCat("too many ", refusal.limit());
    counted_.Note(Severity::kWarning, kind, absl::StrCat("refused a node: ", refusal.text()));
  }
  if (const auto open = streams_.Find(stream)) open->Send(std::move(message));
}

void RpcEffectSink::OnCloseStream(StreamId stream) {
  if (const auto open = streams_.Find(stream)) open->Close();
}

void RpcEffectSink::OnAnswer(Answer answer) {
  if (answer.query < StoreCalls::kFirst) return queries_.Resolve(std::move(answer));
  if (store_calls_ != nullptr) store_calls_->Resolve(std::move(answer));
}

void RpcEffectSink::OnPublishPeers(PublishPeers publish) {
  rounds_.Publish(publish.job_id, publish.run, publish.round, std::move(publish.peer_list));
}

void RpcEffectSink::OnForgetPeers(ForgetPeers forget) { rounds_.Forget(forget.job_id, forget.run); }

void RpcEffectSink::OnAnnounce(const Announce& announce) {
  const v1::JobEvent& event = *announce.event;
  if (!event.refusal().empty()) {
    return counted_.Note(announce.severity, event.refusal(), event.text(), std::max(event.times(), 1U));
  }
  LogFields fields = {{"kind", event.kind()}, {"job", event.job_id()}};
  if (event.run() != 0) fields.emplace_back("run", absl::StrCat(event.run()));
  const Severity level = announce.severity;
  Log(level, event.text(), fields);
  // Log each line separately: the log escapes line breaks, so that a process's output can't forge lines.
  for (const std::string& line : event.last_lines()) Log(level, absl::StrCat("    ", line), fields);
}

void RpcEffectSink::OnRunSettled(const RunSettled& settled) {
  if (on_settled_) on_settled_(settled);
}

void RpcEffectSink::OnTurnEnd() {
  if (store_calls_ != nullptr) store_calls_->EndTurn();
}

}  // namespace muster::scheduler
