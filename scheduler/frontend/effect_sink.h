// Carries the core's effects to streams, waiting queries, GetPeers and the log.
#pragma once

#include <functional>

#include "common/sys/log.h"
#include "scheduler/frontend/pending_queries.h"
#include "scheduler/frontend/published_rounds.h"
#include "scheduler/frontend/store_calls.h"
#include "scheduler/frontend/stream_registry.h"
#include "scheduler/loop/loop.h"

namespace muster::scheduler {

// The loop's thread makes all calls; none blocks.
class RpcEffectSink : public EffectSink {
 public:
  // Owns none of the references. The loop's thread calls `on_settled`.
  RpcEffectSink(StreamRegistry& streams, PendingQueries& queries, PublishedRounds& rounds, CountedLog& counted,
                std::function<void(const RunSettled&)> on_settled)
      : streams_(streams), queries_(queries), rounds_(rounds), counted_(counted), on_settled_(std::move(on_settled)) {}

  // Sets the receiver of answers to the store's calls; call it before the first effect. Not owned.
  void SetStoreCalls(StoreCalls* calls) { store_calls_ = calls; }

  void OnSend(StreamId stream, std::shared_ptr<const v1::SchedulerMessage> message) override;
  void OnCloseStream(StreamId stream) override;
  void OnAnswer(Answer answer) override;
  void OnPublishPeers(PublishPeers publish) override;
  void OnForgetPeers(ForgetPeers forget) override;
  void OnAnnounce(const Announce& announce) override;
  void OnRunSettled(const RunSettled& settled) override;
  void OnTurnEnd() override;

 private:
  StreamRegistry& streams_;
  PendingQueries& queries_;
  PublishedRounds& rounds_;
  StoreCalls* store_calls_ = nullptr;
  CountedLog& counted_;
  const std::function<void(const RunSettled&)> on_settled_;
};

}  // namespace muster::scheduler
