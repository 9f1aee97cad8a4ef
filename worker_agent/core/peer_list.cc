#include "worker_agent/core/peer_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFirstPeersBackOff = absl::Milliseconds(500);
constexpr absl::Duration kMaxPeersBackOff = absl::Seconds(3);
constexpr absl::Duration kPeersTimeout = absl::Seconds(30);

}  // namespace

bool PeerList::Have(const v1::DesiredState& desired, MonotonicTime now, Effects& out) {
  if (request_.round != desired.round()) {
    request_ = Request{};
    request_.round = desired.round();
    request_.back_off = kFirstPeersBackOff;
    request_.next_at = now;
  }
  if (request_.list != nullptr) return true;
  if (!connector_.IsOpen()) return false;
  request_.is_wanted = true;
  if (now < request_.next_at) return false;
  request_.is_asked = true;
  request_.next_at = now + kPeersTimeout;
  out.push_back(FetchPeers{desired.run(), desired.round(), desired.peers_digest(), connector_.connect_seq()});
  return false;
}

void PeerList::OnFetched(const PeersFetched& event, MonotonicTime now, Effects& out) {
  if (event.round != request_.round || !request_.is_asked) return;
  request_.is_asked = false;
  if (event.status.ok() && event.peer_list != nullptr) {
    request_.list = event.peer_list;
    return;
  }
  request_.next_at = now + jitter_.Around(request_.back_off, 0.3);
  request_.back_off = std::min(request_.back_off * 2, kMaxPeersBackOff);
  const std::string error(event.status.message());
  if (error == request_.last_error) return;
  request_.last_error = error;
  out.push_back(Say{Severity::kWarning, absl::StrCat("the peer list of round ", event.round,
                                                     " could not be fetched, trying again: ", error)});
}

void PeerList::OnStreamClosed(MonotonicTime now) {
  if (std::exchange(request_.is_asked, false)) request_.next_at = now;
}

}  // namespace muster::agent
