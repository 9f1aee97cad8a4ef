// Fetches the peer list of the round that is about to start, repeats that after a failure, and keeps the list.
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

  // Notes that no round waits for the list until Have is called again.
  void Release() { request_.is_wanted = false; }
  // Returns true once the list of the desired round is here. Otherwise requests it if a request is due.
  bool Have(const v1::DesiredState& desired, MonotonicTime now, Effects& out);
  // Returns the list of this round; null if it is not here.
  std::shared_ptr<const std::string> Of(uint32_t round) const {
    return request_.round == round ? request_.list : nullptr;
  }
  void OnFetched(const PeersFetched& event, MonotonicTime now, Effects& out);
  // The stream on which the list may have been requested has ended.
  void OnStreamClosed(MonotonicTime now);
  // Another run begins: forgets the list and any request.
  void Forget() { request_ = Request{}; }
  MonotonicTime NextDeadline() const { return request_.is_wanted ? request_.next_at : MonotonicTime::Never(); }

 private:
  struct Request {
    uint32_t round = 0;
    std::shared_ptr<const std::string> list;
    bool is_wanted = false;  // a round waits for it, and there is a scheduler to ask
    bool is_asked = false;
    MonotonicTime next_at;  // if is_asked: when to give up the answer; otherwise: when to ask next
    absl::Duration back_off;
    std::string last_error;
  };

  Jitter& jitter_;
  const Connector& connector_;
  Request request_;
};

}  // namespace muster::agent
