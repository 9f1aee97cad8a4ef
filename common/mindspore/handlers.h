// Answers the requests of a MindSpore process. Does no I/O: the server calls it with complete frames.
//
//   request                the answer's number and body
//   0 register             3 with the rank, or 4 with a reason
//   1 unregister           3 done, 5 too early or 4 unknown node; the body is the same number in digits
//   2 heartbeat            3 with the cluster's state; no answer for an unknown node
//   6 write metadata       never an answer: the client would take it for the answer to its next request
//   7, 8 read, delete      "there" with name and value, or "not there" (dialect.h has the numbers). If all ranks wait
//                          for the key, a read waits up to two seconds for it, because clients ask again only every
//                          three seconds. No answer while the store can't know whether the key exists (the
//                          scheduler is away)
//   9 host names           "there" with {"hostnames":[...]}, or "not there" with an empty list
//   12 or 10 add           "there" with the sum, or "not there"
//   others                 no answer, as from MindSpore's own scheduler
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
    kPending,  // `done` will be called with the answer; number and body are sent if that takes too long
  };
  Kind kind = Kind::kSilence;
  uint32_t number = 0;  // of the reply
  std::string body;     // of the reply

  static Answer Reply(uint32_t number, std::string body) { return {Kind::kReply, number, std::move(body)}; }
};

// Called with a pending request's answer (kReply).
using AnswerDone = std::function<void(Answer answer)>;

// Returns the number in a frame's name: decimal digits only, at most 9 of them.
std::optional<uint32_t> RequestNumber(const std::string& name);

// Handles a request. Logs writes that the store refuses to `counted`. If the result is kPending, `done` is called at
// most once, on any thread, possibly before this function returns. Otherwise it is never called.
Answer HandleRequest(Cluster& cluster, const Peer& peer, Dialect dialect, uint32_t number, const std::string& body,
                     const std::shared_ptr<CountedLog>& counted, AnswerDone done);

// Returns the key that a request asks for, if the answer can be "there" or "not there"; std::nullopt for other
// requests.
std::optional<std::string> AskedKey(uint32_t number, const std::string& body);

// Returns {"hostnames":["a","b"]}.
std::string HostNamesJson(const std::vector<std::string>& names);

}  // namespace muster::mindspore
