// The peer list of the round that is to be started: fetched, fetched again after a failure, and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/core/connection/connector.h"
#include "worker_agent/core/connection/jitter.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class PeerList {
 public:
  // `jitter` and `connector` outlive this.
  PeerList(Jitter& jitter, const Connector& connector) : jitter_(jitter), connector_(connector) {}

  // No round waits for the list, until Have is called.
  void Release() { request_.is_wanted = false; }
  // True once the list of the desired round is there; else requests it when that is due.
  bool Have(const v1::DesiredState& desired, MonotonicTime now, Effects& out);
  // Null if it is not there.
  std::shared_ptr<const std::string> Of(uint32_t round) const {
    return request_.round == round ? request_.list : nullptr;
  }
  void OnFetched(const PeersFetched& event, MonotonicTime now, Effects& out);
  // The stream on which it may have been asked for has ended.
  void OnStreamClosed(MonotonicTime now);
  // The run is another one.
  void Forget() { request_ = Request{}; }
  MonotonicTime NextDeadline() const { return request_.is_wanted ? request_.next_at : MonotonicTime::Never(); }

 private:
  struct Request {
    uint32_t round = 0;
    std::shared_ptr<const std::string> list;
    bool is_wanted = false;  // a round waits for it, and there is a scheduler to ask
    bool is_asked = false;
    MonotonicTime next_at;  // is_asked: when the answer is given up; else: when to ask (again)
    absl::Duration back_off;
    std::string last_error;
  };

  Jitter& jitter_;
  const Connector& connector_;
  Request request_;
};

}  // namespace muster::agent
