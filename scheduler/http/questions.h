// Queries to the core, shared by all viewers, so that their number does not matter for the loop's time. An answer
// serves all viewers for kFresh, one query is on its way at a time, and kEachTick of them begin between two ticks
// (about 100 ms). Addresses take turns. A query that no one waits for any more is dropped, and without viewers none is
// sent. Owned by the server's thread; see Hooks::ask for `done`.
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
  static constexpr size_t kMaxKept = 256;      // different answers
  static constexpr size_t kMaxWaiting = 1024;  // for one of them

  using Render = std::function<ResponsePtr(const scheduler::Answer& answer)>;
  using Reply = std::function<void(ResponsePtr response)>;
  struct Hooks {
    // Asks the core. Calls `done` once, on any thread, unless it returns an error.
    std::function<absl::Status(scheduler::QueryRequest request, std::function<void(scheduler::Answer)> done)> ask;
    std::function<void(std::function<void()> task)> post;  // any thread: runs `task` in the server's
    std::function<std::string()> why_full;                 // see ServiceContext; empty: there is room
  };

  // `clock` must outlive this.
  Questions(Hooks hooks, const Clock& clock) : hooks_(std::move(hooks)), clock_(clock) {}

  struct Asker {
    uint64_t connection = 0;
    std::string client_key = {};  // see FairShare; clients take turns
    bool is_first = false;        // asked before all others, and beyond kMaxKept
  };

  // Calls `reply` once, now or later, unless the connection is forgotten. Equal keys mean equal requests and renders.
  // `render` receives errors, too.
  void Ask(const Asker& asker, const std::string& key, scheduler::QueryRequest request, Render render, Reply reply);
  // The connection is closed and waits for nothing.
  void Forget(uint64_t connection);
  // Call it about every 100 ms while a client is connected.
  void Tick();

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    MonotonicTime made;
    ResponsePtr response;  // null: none yet
    bool is_asked = false;
    bool is_queued = false;  // to be asked, but not on its way yet
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
  std::deque<std::string> first_;                          // keys to ask before …
  std::map<std::string, std::deque<std::string>> queues_;  // … those of each client; none is empty
  std::string last_client_key_;                            // the one that had its turn last
  bool is_one_on_its_way_ = false;
  int left_ = kEachTick;
};

}  // namespace muster::http
