// What an answer of the store comes to:
//   Wait, the key is there           take it, go on
//   Wait, kDeadlineExceeded          ask again, until the deadline
//   Wait, kUnavailable               the scheduler is away: the same
//   Set, kDeadlineExceeded           it still goes out (store_core.h): go on
//   anything else                    that is the end, with what the store says
#include "worker_agent/gateway/store_text.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "worker_agent/gateway/length.h"

namespace muster::agent {
namespace {

std::string PieceOf(const std::string& name, size_t piece) { return absl::StrCat(name, "/", piece); }

void WritePiece(JobStore& store, const std::string& name, const std::shared_ptr<const std::string>& text, size_t piece,
                JobStore::Done done) {
  const size_t from = piece * kMaxStoreValueBytes;
  if (from >= text->size()) return done(absl::OkStatus());
  store.Set(PieceOf(name, piece), text->substr(from, kMaxStoreValueBytes), Lifetime::kRound,
            [&store, name, text, piece, done](const absl::Status& status) {
              if (!status.ok() && !absl::IsDeadlineExceeded(status)) return done(status);
              WritePiece(store, name, text, piece + 1, done);
            });
}

// Kept alive by the call to the store that is under way.
class Reading : public std::enable_shared_from_this<Reading> {
 public:
  Reading(JobStore& store, const Clock& clock, WantedText wanted, TextDone done)
      : store_(store), clock_(clock), wanted_(std::move(wanted)), done_(std::move(done)) {}

  void Go() {
    const absl::Duration left = wanted_.deadline - clock_.Read().monotonic;
    if (left <= absl::ZeroDuration()) return done_(absl::DeadlineExceededError("it has not come in time"));
    const auto longest = absl::ToChronoMilliseconds(std::min(left, absl::Milliseconds(kLongestStoreWaitMs)));
    store_.Wait(
        PieceOf(wanted_.name, piece_), std::max(longest, std::chrono::milliseconds(1)),
        [self = shared_from_this()](const absl::StatusOr<std::optional<std::string>>& value) { self->Take(value); });
  }

 private:
  void Take(const absl::StatusOr<std::optional<std::string>>& value) {
    if (absl::IsDeadlineExceeded(value.status()) || absl::IsUnavailable(value.status())) return Go();
    if (!value.ok()) return done_(value.status());
    std::string_view bytes = value->has_value() ? std::string_view(**value) : std::string_view();
    if (piece_ == 0) {
      const std::optional<size_t> told = TakeLength(bytes);
      if (!told || *told > wanted_.most) return Refuse("no length, or too large a one");
      length_ = *told;
    } else if (bytes.empty()) {
      return Refuse("an empty piece");
    }
    text_ += bytes;
    ++piece_;
    if (text_.size() > length_) return Refuse("more than it said");
    if (text_.size() < length_) return Go();
    done_(std::move(text_));
  }

  void Refuse(const char* what) { done_(absl::InvalidArgumentError(absl::StrCat("wrote ", what))); }

  JobStore& store_;
  const Clock& clock_;
  const WantedText wanted_;
  const TextDone done_;
  size_t piece_ = 0;
  size_t length_ = 0;
  std::string text_;
};

}  // namespace

size_t PiecesOf(size_t bytes) { return (bytes + kLengthBytes + kMaxStoreValueBytes - 1) / kMaxStoreValueBytes; }

void WriteText(JobStore& store, const std::string& name, const std::string& bytes, JobStore::Done done) {
  WritePiece(store, name, std::make_shared<const std::string>(LengthText(bytes.size()) + bytes), 0, std::move(done));
}

void ReadText(JobStore& store, const Clock& clock, WantedText wanted, TextDone done) {
  std::make_shared<Reading>(store, clock, std::move(wanted), std::move(done))->Go();
}

void DeleteText(JobStore& store, const std::string& name, size_t pieces) {
  for (size_t piece = 0; piece < pieces; ++piece) store.Delete(PieceOf(name, piece), [](const absl::Status&) {});
}

}  // namespace muster::agent
