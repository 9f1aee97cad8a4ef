// Passes effects on, and has --on_event told of those that are worth it. Announced lines are durable by then.
#pragma once

#include <memory>
#include <utility>

#include "scheduler/loop/loop.h"
#include "scheduler/notices/notice_runner.h"

namespace muster::scheduler {

class NoticingSink : public EffectSink {
 public:
  // `next` and `rules` outlive this. A null `runner`: nobody is told.
  NoticingSink(EffectSink& next, NoticeRules& rules, std::unique_ptr<NoticeRunner> runner)
      : next_(next), rules_(rules), runner_(std::move(runner)) {}

  // Once nothing is announced any more: the runner's farewell.
  void EndNotices() { runner_.reset(); }

  void OnSend(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message) override {
    next_.OnSend(stream, std::move(message));
  }
  void OnCloseStream(StreamId stream) override { next_.OnCloseStream(stream); }
  void OnAnswer(Answer answer) override { next_.OnAnswer(std::move(answer)); }
  void OnPublishPeers(PublishPeers publish) override { next_.OnPublishPeers(std::move(publish)); }
  void OnForgetPeers(ForgetPeers forget) override { next_.OnForgetPeers(std::move(forget)); }
  void OnRunSettled(const RunSettled& settled) override { next_.OnRunSettled(settled); }
  void OnTurnEnd() override { next_.OnTurnEnd(); }
  void OnAnnounce(const Announce& announce) override {
    next_.OnAnnounce(announce);
    if (runner_ == nullptr) return;
    for (Notice& notice : rules_.Judge(*announce.event)) runner_->Add(std::move(notice));
  }

 private:
  EffectSink& next_;
  NoticeRules& rules_;
  std::unique_ptr<NoticeRunner> runner_;
};

}  // namespace muster::scheduler
