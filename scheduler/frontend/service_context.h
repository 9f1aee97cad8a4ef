// The dependencies that all services of the scheduler share. Owns nothing; everything is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/sys/log.h"
#include "common/tls/tls_store.h"
#include "scheduler/core/state/events.h"
#include "scheduler/frontend/authorizer.h"
#include "scheduler/frontend/pending_queries.h"
#include "scheduler/frontend/published_rounds.h"
#include "scheduler/frontend/reply_budget.h"
#include "scheduler/frontend/stream_registry.h"
#include "scheduler/heartbeat/datagram_port.h"
#include "scheduler/ingress/connection_peers.h"

namespace muster::scheduler {

// Loop::Post, or a test's replacement.
using PostEvent = std::function<bool(Event event, std::function<void()> applied)>;

inline constexpr char kOversize[] = "oversize message";  // the name under which messages above a limit are counted

struct ServiceContext {
  PostEvent post;
  const Clock& clock;
  CountedLog& counted;
  const Authorizer& authorizer;
  const ConnectionPeers& peers;
  StreamRegistry& streams;
  PendingQueries& queries;
  PublishedRounds& rounds;
  ReplyBudget& replies;        // for answers to admin calls
  ReplyBudget& store_replies;  // for answers to store calls: too many calls of one kind must not block the other
  absl::Duration join_limit = absl::Seconds(10);   // from the opening of a stream to its join
  absl::Duration close_limit = absl::Seconds(5);   // for a peer to take a closing stream's last messages
  absl::Duration query_limit = absl::Seconds(10);  // for the core to answer an admin call
  absl::Duration reply_limit = absl::Seconds(30);  // for a peer to read the answer to an admin call
  // Returns why there is no room for new joins and queries now; empty if there is room. May be null. Nodes that return
  // to their run are accepted even without room.
  std::function<std::string()> why_full = nullptr;

  const TlsStore* tls = nullptr;  // null without TLS

  // note_joined is called when a stream of this connection has joined, note_left when a joined stream has ended.
  std::function<void(uint64_t connection)> note_joined = nullptr;
  std::function<void(uint64_t connection)> note_left = nullptr;

  DatagramPort* datagrams = nullptr;  // null: heartbeats come over streams only

  std::string WhyFull() const { return why_full ? why_full() : ""; }
};

}  // namespace muster::scheduler
