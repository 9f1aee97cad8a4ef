// The answers to the requests of a MindSpore process. No I/O; the server calls it with whole frames.
//
//   0 register             3 with the rank, or 4 with a reason
//   1 unregister           3, 5 or 4, and the body is the same number in digits
//   2 heartbeat            3 with the cluster's state; nothing to an unknown node
//   6 write metadata       nothing, ever: it would be taken for the answer to the next request
//   7, 8 read, delete      "there" with name and value, or "not there" (see dialect.h for the numbers). A read of a key
//                          that all ranks wait for waits here for two seconds at most: clients ask again only every
//                          three. While the store doesn't know (the scheduler is away) the answer is left open
//   9 host names           "there" with {"hostnames":[...]}, or "not there" with an empty list
//   12 or 10 add           "there" with the sum, or "not there"
//   all else               nothing, as MindSpore does
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/mindspore/cluster.h"
#include "common/mindspore/dialect.h"
#include "common/sys/log.h"

namespace muster::mindspore {

struct Answer {
  enum class Kind {
    kReply,
    kSilence,
    kPending,  // `done` will be called; `reply` is the answer if that doesn't happen in time
  };
  Kind kind = Kind::kSilence;
  uint32_t number = 0;  // of the reply …
  std::string body;     // … and its body

  static Answer Reply(uint32_t number, std::string body) { return {Kind::kReply, number, std::move(body)}; }
};

// Called with a pending request's answer (kReply).
using AnswerDone = std::function<void(Answer answer)>;

// Returns the number in a frame's name: decimal digits only, at most 9 of them.
std::optional<uint32_t> RequestNumber(const std::string& name);

// Handles a request. Logs writes that the store does not take to `counted`. Calls `done` at most once, only if the
// result is kPending, on any thread, possibly before this returns.
Answer HandleRequest(Cluster& cluster, const Peer& peer, Dialect dialect, uint32_t number, const std::string& body,
                     const std::shared_ptr<CountedLog>& counted, AnswerDone done);

// Returns the key that a request asks for, if its answer is "there" or "not there"; std::nullopt for other requests.
std::optional<std::string> AskedKey(uint32_t number, const std::string& body);

// Returns {"hostnames":["a","b"]}.
std::string HostNamesJson(const std::vector<std::string>& names);

}  // namespace muster::mindspore
