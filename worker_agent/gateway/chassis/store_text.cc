// Reactions to the store's answers:
//   Wait, with a value              takes the value, goes on
//   Wait, kDeadlineExceeded         asks again, until the deadline
//   Wait, kUnavailable              asks again, until the deadline: the scheduler can't be reached now
//   Set, kDeadlineExceeded          goes on: the store still sends the value (store_core.h)
//   any other answer                ends, with the store's error
#include "worker_agent/gateway/chassis/store_text.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"

namespace muster::agent {
namespace {

constexpr size_t kPiecesAtOnce = 8;  // of one text; limits the pending calls here and at the scheduler

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

// Reads one text. Its pending store calls keep it alive: one for the first piece, or several once the length is known.
class Reading : public std::enable_shared_from_this<Reading> {
 public:
  Reading(JobStore& store, const Clock& clock, WantedText wanted, TextDone done)
      : store_(store), clock_(clock), wanted_(std::move(wanted)), done_(std::move(done)) {}

  void Go() {
    {
      const MutexLock lock(mutex_);
      pieces_.resize(wanted_.bytes == 0 ? 1 : PiecesOf(std::min(wanted_.bytes, wanted_.most)));
    }
    AskOn();
  }

 private:
  void AskOn() {
    size_t first = 0, end = 0;
    {
      const MutexLock lock(mutex_);
      first = asked_;
      end = asked_ = std::max(asked_, std::min(pieces_.size(), came_ + kPiecesAtOnce));
    }
    store_.Together([&] {
      for (size_t piece = first; piece < end; ++piece) Ask(piece);
    });
  }

  void Ask(size_t piece) {
    const absl::Duration left = wanted_.deadline - clock_.Read().monotonic;
    if (left <= absl::ZeroDuration()) return End(absl::DeadlineExceededError("it has not come in time"));
    const auto longest = absl::ToChronoMilliseconds(std::min(left, absl::Milliseconds(kMaxStoreWaitMs)));
    store_.Wait(PieceOf(wanted_.name, piece), std::max(longest, std::chrono::milliseconds(1)),
                [self = shared_from_this(), piece](const absl::StatusOr<std::optional<std::string>>& value) {
                  self->Take(piece, value);
                });
  }

  void Take(size_t piece, const absl::StatusOr<std::optional<std::string>>& value) {
    if (IsOver()) return;
    if (absl::IsDeadlineExceeded(value.status()) || absl::IsUnavailable(value.status())) return Ask(piece);
    if (!value.ok()) return End(value.status());
    std::string_view bytes = value->has_value() ? std::string_view(**value) : std::string_view();
    if (piece == 0) {
      const std::optional<size_t> announced = TakeLength(bytes);
      if (!announced || *announced > wanted_.most) return Refuse("no length, or one that is too large");
      bool is_less = false;
      {
        const MutexLock lock(mutex_);
        length_ = *announced;
        is_less = PiecesOf(*announced) < pieces_.size();
        if (!is_less) pieces_.resize(PiecesOf(*announced));
      }
      if (is_less) return Refuse("less data than announced");
    } else if (bytes.empty()) {
      return Refuse("an empty piece");
    }
    Add(piece, std::string(bytes));
  }

  void Add(size_t piece, std::string bytes) {
    bool is_whole = false, is_right = false;
    std::string text;
    {
      const MutexLock lock(mutex_);
      pieces_[piece] = std::move(bytes);
      is_whole = ++came_ == pieces_.size();
      if (is_whole) text = absl::StrJoin(pieces_, "");
      is_right = text.size() == length_;
    }
    if (!is_whole) return AskOn();
    if (!is_right) return Refuse("less or more data than announced");
    End(std::move(text));
  }

  bool IsOver() {
    const MutexLock lock(mutex_);
    return done_ == nullptr;
  }

  void Refuse(const char* what) { End(absl::InvalidArgumentError(absl::StrCat("wrote ", what))); }

  void End(absl::StatusOr<std::string> text) {
    TextDone done;
    {
      const MutexLock lock(mutex_);
      done = std::exchange(done_, nullptr);
    }
    if (done) done(std::move(text));
  }

  JobStore& store_;
  const Clock& clock_;
  const WantedText wanted_;
  Mutex mutex_;
  TextDone done_ ABSL_GUARDED_BY(mutex_);  // null: it has been called
  std::vector<std::string> pieces_ ABSL_GUARDED_BY(mutex_);
  size_t asked_ ABSL_GUARDED_BY(mutex_) = 0;  // how many pieces, from the first on, were asked for
  size_t came_ ABSL_GUARDED_BY(mutex_) = 0;   // how many of these have come
  size_t length_ ABSL_GUARDED_BY(mutex_) = 0;
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
