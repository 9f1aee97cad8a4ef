// Passes effects on, and has --on_event told of those that are worth it. Announced lines are durable by then.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "scheduler/loop/loop.h"
#include "scheduler/notices/notice_runner.h"

namespace muster::scheduler {

class NoticingSink : public EffectSink {
 public:
  // `next` outlives this. A null `runner`: nobody is told.
  NoticingSink(EffectSink& next, std::unique_ptr<NoticeRunner> runner) : next_(next), runner_(std::move(runner)) {}

  void OnSend(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message) override {
    next_.OnSend(stream, std::move(message));
  }
  void OnCloseStream(StreamId stream) override { next_.OnCloseStream(stream); }
  void OnAnswer(Answer answer) override { next_.OnAnswer(std::move(answer)); }
  void OnPublishPeers(PublishPeers publish) override { next_.OnPublishPeers(std::move(publish)); }
  void OnForgetPeers(ForgetPeers forget) override { next_.OnForgetPeers(std::move(forget)); }
  void OnRunSettled(const RunSettled& settled) override { next_.OnRunSettled(settled); }
  void OnAnnounce(const Announce& announce) override {
    next_.OnAnnounce(announce);
    if (runner_ == nullptr) return;
    if (std::optional<Notice> notice = rules_.Judge(*announce.event)) runner_->Add(*std::move(notice));
  }

 private:
  EffectSink& next_;
  const std::unique_ptr<NoticeRunner> runner_;
  NoticeRules rules_;
};

}  // namespace muster::scheduler
