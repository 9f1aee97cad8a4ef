// Queries to the core. Viewers share them, so that many viewers take no more of the loop's time than few:
//
// - For kFresh after it came, an answer serves all viewers that ask the same.
// - One query is with the core at a time, and at most kEachTick queries begin between two ticks (about 100 ms).
// - Clients take turns, so that one with many queries can't delay the others.
// - A query is not sent if no viewer waits for it any more.
//
// Owned by the server's thread; only the `done` of Hooks::ask may run on another thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "scheduler/core/state/events.h"
#include "scheduler/http/response.h"

namespace muster::http {

class Questions {
 public:
  static constexpr absl::Duration kFresh = absl::Milliseconds(250);
  static constexpr int kEachTick = 4;
  static constexpr size_t kMaxKept = 256;      // different queries, with or without an answer
  static constexpr size_t kMaxWaiting = 1024;  // connections that wait for the answer to one query

  using Render = std::function<ResponsePtr(const scheduler::Answer& answer)>;
  using Reply = std::function<void(ResponsePtr response)>;
  struct Hooks {
    // Asks the core. Calls `done` once, on any thread, unless it returns an error.
    std::function<absl::Status(scheduler::QueryRequest request, std::function<void(scheduler::Answer)> done)> ask;
    std::function<void(std::function<void()> task)> post;  // runs `task` in the server's thread; any thread may call
    std::function<std::string()> why_full;                 // see ServiceContext; returns "": there is room
  };

  // `clock` must outlive this.
  Questions(Hooks hooks, const Clock& clock) : hooks_(std::move(hooks)), clock_(clock) {}

  struct Asker {
    uint64_t connection = 0;
    std::string client_key = {};  // see FairShare; clients take turns
    bool is_first = false;        // this query goes before all others, and even when kMaxKept is reached
  };

  // Calls `reply` once, now or later, unless Forget is called for the connection first. Two calls with the same `key`
  // must have the same request and the same `render`: they share one answer. `render` also makes the response of an
  // error.
  void Ask(const Asker& asker, const std::string& key, scheduler::QueryRequest request, Render render, Reply reply);
  // Call it when the connection is closed: its replies are no longer called.
  void Forget(uint64_t connection);
  // Call it about every 100 ms while a client is connected.
  void Tick();

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    MonotonicTime made;
    ResponsePtr response;  // null: no answer has come yet
    bool is_asked = false;
    bool is_queued = false;  // waits for its turn: the core has not been asked yet
    scheduler::QueryRequest request;
    Render render;
    std::vector<std::pair<uint64_t, Reply>> waiting;
  };
  void Next();
  std::string TakeTurn();
  void DropStale();
  void Take(const std::string& key, const scheduler::Answer& answer);

  const Hooks hooks_;
  const Clock& clock_;
  std::map<std::string, Entry> entries_;
  std::deque<std::string> first_;                          // keys of the queries that go before those in queues_
  std::map<std::string, std::deque<std::string>> queues_;  // keys of the other queries, by client; none is empty
  std::string last_client_key_;                            // the client that had its turn last
  bool is_one_on_its_way_ = false;
  int left_ = kEachTick;
};

}  // namespace muster::http
