// Runs a command for each notice, and writes the notice to its standard input.
//
// - At most kMaxAtOnce commands run at a time, each for at most `time_limit`. A command's process group is killed when
//   the command ends, when its time is over, and when this program is killed. So processes that it leaves behind end,
//   too.
// - At most kMaxWaiting notices wait. A further notice replaces the oldest one that GivesWay, if the new one does not;
//   otherwise the new one is dropped. Dropped notices are counted and logged.
// - A command that fails is logged, with the first line of its standard error, and counted. It is not tried again.
//
// Only the destructor blocks.
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
    std::string command;  // run by /bin/sh -c
    absl::Duration time_limit = absl::Seconds(30);
    // Returns further notices. The runner's thread calls it about every 5 s, and at the end with `is_last`. May be
    // null.
    std::function<std::vector<Notice>(bool is_last)> look = nullptr;
    absl::Duration drain_time = absl::Seconds(3);  // how long the destructor lets commands run
  };

  // `clock` and `counted` must outlive this. Error: the process can't have another thread or descriptor.
  static absl::StatusOr<std::unique_ptr<NoticeRunner>> Start(Options options, const Clock& clock, CountedLog& counted);
  // Runs the commands for the notices that wait, for at most `drain_time` in all. Then kills the commands that still
  // run, and drops the notices that still wait.
  ~NoticeRunner();
  NoticeRunner(const NoticeRunner&) = delete;
  NoticeRunner& operator=(const NoticeRunner&) = delete;

  // Runs the command for this notice, when its turn comes. Any thread; never blocks.
  void Add(Notice notice);

 private:
  class Impl;
  explicit NoticeRunner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Passes all effects on to `next`, and runs the command of --on_event for announced events that give a notice. An event
// is announced only after it is durable.
class NoticingSink : public EffectSink {
 public:
  // `next` and `rules` must outlive this. A null `runner`: no command is run.
  NoticingSink(EffectSink& next, NoticeRules& rules, std::unique_ptr<NoticeRunner> runner)
      : next_(next), rules_(rules), runner_(std::move(runner)) {}

  // Call it once no more events are announced. Waits for the runner's last commands.
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
