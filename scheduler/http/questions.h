// What the core is asked for all who look, so that the loop's time is bounded however many there are: an answer serves
// everybody for kFresh, one question is on its way at a time, and kEachTick of them begin between two ticks (about
// 100 ms). Addresses take turns, and what nobody waits for any more is not asked. Nothing is asked while nobody looks.
// Of the server's thread, but for what `done` of Hooks::ask says.
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
    // Asks the core. `done` is called once, by any thread, unless an error is returned.
    std::function<absl::Status(scheduler::QueryRequest request, std::function<void(scheduler::Answer)> done)> ask;
    std::function<void(std::function<void()> task)> post;  // any thread: runs `task` in the server's
    std::function<std::string()> why_full;                 // see ServiceContext; empty: there is room
  };

  // `clock` must outlive this.
  Questions(Hooks hooks, const Clock& clock) : hooks_(std::move(hooks)), clock_(clock) {}

  struct Asker {
    uint64_t connection = 0;
    std::string party = {};  // takes turns with others
    bool is_first = false;   // before all who are not, and beyond kMaxKept
  };

  // `reply` is called once, now or later, unless the connection is forgotten. Equal keys mean equal requests and
  // renders. `render` is told of errors, too.
  void Ask(const Asker& asker, const std::string& key, scheduler::QueryRequest request, Render render, Reply reply);
  // The connection is gone: it waits for nothing.
  void Forget(uint64_t connection);
  // About every 100 ms while somebody is connected.
  void Tick();

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    MonotonicTime made;
    ResponsePtr response;  // null: there is none yet
    bool is_asked = false;
    bool is_queued = false;  // asked, and not on its way yet
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
  std::deque<std::string> first_;                          // keys to be asked before …
  std::map<std::string, std::deque<std::string>> queues_;  // … those of each party; none is empty
  std::string last_party_;                                 // that had its turn
  bool is_one_on_its_way_ = false;
  int left_ = kEachTick;
};

}  // namespace muster::http
