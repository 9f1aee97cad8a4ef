#include "scheduler/http/questions.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::http {

void Questions::Ask(const std::string& key, scheduler::QueryRequest request, Render render, Reply reply) {
  const auto known = entries_.find(key);
  if (known == entries_.end() && entries_.size() >= kMostKept) {
    return reply(MakeResponse(503, kPlainText, "too many different questions at once: try again\n"));
  }
  Entry& entry = entries_[key];
  const bool is_fresh = entry.response != nullptr && clock_.Read().monotonic - entry.made < kFresh;
  if (is_fresh && !entry.is_asked) return reply(entry.response);
  if (entry.waiting.size() >= kMostWaiting) {
    return reply(MakeResponse(503, kPlainText, "too many wait for this answer: try again\n"));
  }
  entry.waiting.push_back(std::move(reply));
  if (entry.is_asked) return;
  entry.is_asked = true;
  entry.request = std::move(request);
  entry.render = std::move(render);
  queue_.push_back(key);
  Next();
}

void Questions::Next() {
  while (!is_one_on_its_way_ && left_ > 0 && !queue_.empty()) {
    const std::string key = queue_.front();
    queue_.pop_front();
    --left_;
    Entry& entry = entries_.at(key);
    // (An answer could not be durable then, and would never come.)
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
  for (Reply& reply : std::exchange(entry.waiting, {})) reply(entry.response);
}

void Questions::Tick() {
  left_ = kEachTick;
  const MonotonicTime now = clock_.Read().monotonic;
  std::erase_if(entries_,
                [now](const auto& known) { return !known.second.is_asked && now - known.second.made > kKept; });
  Next();
}

}  // namespace muster::http
