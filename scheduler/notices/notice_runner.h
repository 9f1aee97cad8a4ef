// Runs a command for each notice, and writes the notice to its standard input.
//
// At most kMaxAtOnce run at once, each for at most `time_limit`. Then the command's process group is killed; so is what
// a command leaves behind, and all of it if this program is killed. At most kMaxWaiting wait. Beyond that the oldest
// one that gives way to the new one is dropped, or else the new one; drops are counted and logged. A command that fails
// is logged with the first line of its standard error, counted, and not tried again. Only the destructor blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/sys/log.h"
#include "scheduler/loop/loop.h"
#include "scheduler/notices/notice.h"

namespace muster::scheduler {

class NoticeRunner {
 public:
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxAtOnce = 4;

  struct Options {
    std::string command;  // for /bin/sh -c
    absl::Duration time_limit = absl::Seconds(30);
    // Called by the runner's thread about every 5 s, and with `is_last` at the end: returns further notices. May be
    // null.
    std::function<std::vector<Notice>(bool is_last)> look = nullptr;
    absl::Duration drain_time = absl::Seconds(3);
  };

  // `clock` and `counted` must outlive this. Error: no thread or no descriptors left.
  static absl::StatusOr<std::unique_ptr<NoticeRunner>> Start(Options options, const Clock& clock, CountedLog& counted);
  // Starts what waits and lets it end, for `drain_time` in all. Then kills what runs, and drops what waits.
  ~NoticeRunner();
  NoticeRunner(const NoticeRunner&) = delete;
  NoticeRunner& operator=(const NoticeRunner&) = delete;

  // Any thread; never blocks.
  void Add(Notice notice);

 private:
  class Impl;
  explicit NoticeRunner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Passes effects on, and runs --on_event for the lines that deserve it. Announced lines are durable by then.
class NoticingSink : public EffectSink {
 public:
  // `next` and `rules` must outlive this. A null `runner`: no command is run.
  NoticingSink(EffectSink& next, NoticeRules& rules, std::unique_ptr<NoticeRunner> runner)
      : next_(next), rules_(rules), runner_(std::move(runner)) {}

  // Call it once no more lines are announced: waits for the runner's last commands.
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
