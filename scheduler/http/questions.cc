#include "scheduler/http/questions.h"

#include <utility>

namespace muster::http {

void Questions::Ask(const Asker& asker, const std::string& key, scheduler::QueryRequest request, Render render,
                    Reply reply) {
  if (entries_.size() >= kMaxKept) DropStale();
  if (!asker.is_first && !entries_.contains(key) && entries_.size() >= kMaxKept) {
    return reply(MakeResponse(503, kPlainText, "too many different questions at once: try again\n"));
  }
  Entry& entry = entries_[key];
  const bool is_fresh = entry.response != nullptr && clock_.Read().monotonic - entry.made < kFresh;
  if (is_fresh && !entry.is_asked) return reply(entry.response);
  if (entry.waiting.size() >= kMaxWaiting) {
    return reply(MakeResponse(503, kPlainText, "too many clients wait for this answer: try again\n"));
  }
  entry.waiting.emplace_back(asker.connection, std::move(reply));
  if (entry.is_asked) return;
  entry.is_asked = entry.is_queued = true;
  entry.request = std::move(request);
  entry.render = std::move(render);
  (asker.is_first ? first_ : queues_[asker.client_key]).push_back(key);
  Next();
}

void Questions::Forget(uint64_t connection) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    std::erase_if(entry.waiting, [connection](const auto& one) { return one.first == connection; });
    if (!entry.is_queued || !entry.waiting.empty()) {
      ++at;
      continue;
    }
    std::erase(first_, at->first);
    for (auto& [client_key, queue] : queues_) std::erase(queue, at->first);
    at = entries_.erase(at);
  }
  std::erase_if(queues_, [](const auto& queue) { return queue.second.empty(); });
}

// Removes the key of the next query from its queue and returns it; empty: no query waits.
std::string Questions::TakeTurn() {
  if (first_.empty() && queues_.empty()) return "";
  auto turn = queues_.upper_bound(last_client_key_);
  if (turn == queues_.end()) turn = queues_.begin();
  std::deque<std::string>& queue = first_.empty() ? turn->second : first_;
  std::string key = std::move(queue.front());
  queue.pop_front();
  if (&queue == &first_) return key;
  last_client_key_ = turn->first;
  if (queue.empty()) queues_.erase(turn);
  return key;
}

void Questions::Next() {
  while (!is_one_on_its_way_ && left_ > 0) {
    const std::string key = TakeTurn();
    if (key.empty()) return;
    --left_;
    Entry& entry = entries_.at(key);
    entry.is_queued = false;
    // (While the disk is full, the core can't answer: an answer waits until the records before it are on the disk.)
    const std::string why = hooks_.why_full ? hooks_.why_full() : "";
    absl::Status asked = why.empty() ? absl::OkStatus() : absl::UnavailableError(why);
    if (asked.ok()) {
      is_one_on_its_way_ = true;
      asked = hooks_.ask(std::move(entry.request), [this, key, post = hooks_.post](scheduler::Answer answer) {
        auto shared = std::make_shared<const scheduler::Answer>(std::move(answer));
        post([this, key, shared] {
          is_one_on_its_way_ = false;
          Take(key, *shared);
          Next();
        });
      });
    }
    if (asked.ok()) return;
    is_one_on_its_way_ = false;
    Take(key, scheduler::Answer{0, asked, {}});
  }
}

void Questions::Take(const std::string& key, const scheduler::Answer& answer) {
  Entry& entry = entries_.at(key);
  entry.response = entry.render(answer);
  entry.made = clock_.Read().monotonic;
  entry.is_asked = false;
  entry.render = nullptr;
  for (auto& [connection, reply] : std::exchange(entry.waiting, {})) reply(entry.response);
}

void Questions::DropStale() {
  const MonotonicTime now = clock_.Read().monotonic;
  std::erase_if(entries_,
                [now](const auto& known) { return !known.second.is_asked && now - known.second.made >= kFresh; });
}

void Questions::Tick() {
  left_ = kEachTick;
  DropStale();
  Next();
}

}  // namespace muster::http
