// What an answer of the store comes to:
//   Wait, the key is there           take it, go on
//   Wait, kDeadlineExceeded          ask again, until the limit
//   Wait, kUnavailable               the scheduler is away: the same
//   Set, kDeadlineExceeded           it still goes out (store_core.h): go on
//   anything else                    that is the end, with what the store says
#include "worker_agent/gateway/mpi/allgather.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace muster::agent {
namespace {

constexpr uint32_t kReadersOfFirst = 16;  // nodes that the first agent asks for at once
constexpr size_t kLengthBytes = 4;

std::string LengthText(size_t length) {
  std::string text;
  for (size_t i = 0; i < kLengthBytes; ++i) text.push_back(static_cast<char>((length >> (8 * i)) & 0xff));
  return text;
}

// Takes it off the front; nothing if there is none.
std::optional<size_t> TakeLength(absl::string_view& text) {
  if (text.size() < kLengthBytes) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= size_t{static_cast<unsigned char>(text[i])} << (8 * i);
  text.remove_prefix(kLengthBytes);
  return length;
}

std::string Join(const Allgather::Blobs& blobs) {
  std::string all;
  for (const std::string& blob : blobs) absl::StrAppend(&all, LengthText(blob.size()), blob);
  return all;
}

absl::StatusOr<Allgather::Blobs> Split(absl::string_view all, uint32_t agents) {
  Allgather::Blobs blobs;
  while (!all.empty()) {
    const std::optional<size_t> length = TakeLength(all);
    if (!length || *length > all.size() || blobs.size() == agents) {
      return absl::InvalidArgumentError("what the first node gathered is damaged");
    }
    blobs.emplace_back(all.substr(0, *length));
    all.remove_prefix(*length);
  }
  if (blobs.size() != agents) return absl::InvalidArgumentError("what the first node gathered is not of all nodes");
  return blobs;
}

size_t PiecesOf(size_t bytes) { return (bytes + kLengthBytes + kMaxStoreValueBytes - 1) / kMaxStoreValueBytes; }

}  // namespace

// Kept alive by the calls to the store that are under way. One after another, but for the first agent's readers, which
// touch nothing in common but what is atomic, and a place of blobs_ each.
class Allgather::Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation(std::shared_ptr<Shared> shared, uint32_t number, absl::Duration limit, Done done)
      : shared_(std::move(shared)),
        number_(number),
        deadline_(shared_->clock.Read().monotonic + limit),
        limit_(limit),
        done_(std::move(done)) {}

  void Run(std::string blob) {
    if (shared_->own == 0) {
      blobs_.resize(shared_->agents);
      blobs_[0] = std::move(blob);
      left_ = shared_->agents - 1;
      for (uint32_t i = 0; i < std::min(kReadersOfFirst, shared_->agents - 1); ++i) Gather();
      return;
    }
    own_pieces_ = PiecesOf(blob.size());
    Write(NameOf(shared_->own), blob, [self = shared_from_this()] {
      self->Read(self->Result(), kMaxAllBytes, 0, [self](std::string all) { self->TakeResult(all); });
    });
  }

 private:
  using Next = std::function<void()>;
  using Taken = std::function<void(std::string)>;

  std::string NameOf(uint32_t node) const { return absl::StrCat(shared_->name, "/", number_, "/", node); }
  std::string ResultOf(uint32_t number) const { return absl::StrCat(shared_->name, "/", number, "/all"); }
  std::string Result() const { return ResultOf(number_); }

  // The next node that nobody asks for yet.
  void Gather() {
    const uint32_t node = next_node_.fetch_add(1);
    if (node >= shared_->agents) return;
    Read(NameOf(node), kMaxBlobBytes, node, [self = shared_from_this(), node](std::string blob) {
      self->blobs_[node] = std::move(blob);
      if (self->left_.fetch_sub(1) == 1) return self->GiveResult();
      self->Gather();
    });
  }

  void GiveResult() {
    const std::string all = Join(blobs_);
    if (all.size() > kMaxAllBytes) {
      return Finish(absl::ResourceExhaustedError(absl::StrCat("the data of all nodes are ", all.size(),
                                                              " bytes, and at most ", kMaxAllBytes, " are passed on")));
    }
    Write(Result(), all, [self = shared_from_this(), pieces = PiecesOf(all.size())] {
      // All nodes have come to this one, so all have read the one before.
      if (self->number_ > 0) self->Delete(self->ResultOf(self->number_ - 1), self->shared_->last_pieces);
      self->shared_->last_pieces = pieces;
      self->Finish(std::move(self->blobs_));
    });
  }

  void TakeResult(const std::string& all) {
    Delete(NameOf(shared_->own), own_pieces_);
    Finish(Split(all, shared_->agents));
  }

  // Its length stands before the first piece.
  void Write(const std::string& name, const std::string& bytes, Next next) {
    WritePiece(name, std::make_shared<const std::string>(LengthText(bytes.size()) + bytes), 0, std::move(next));
  }

  void WritePiece(const std::string& name, const std::shared_ptr<const std::string>& text, size_t piece, Next next) {
    const size_t from = piece * kMaxStoreValueBytes;
    if (from >= text->size()) return next();
    shared_->store.Set(absl::StrCat(name, "/", piece), text->substr(from, kMaxStoreValueBytes), Lifetime::kRound,
                       [self = shared_from_this(), name, text, piece, next](const absl::Status& status) {
                         if (!status.ok() && !absl::IsDeadlineExceeded(status)) return self->Finish(status);
                         self->WritePiece(name, text, piece + 1, next);
                       });
  }

  void Read(const std::string& name, size_t most, uint32_t node, Taken taken) {
    ReadPiece({name, most, node, std::move(taken)}, 0, std::make_shared<std::string>(), 0);
  }

  struct Reading {
    std::string name;
    size_t most = 0;
    uint32_t node = 0;  // who writes it
    Taken taken;
  };

  void ReadPiece(const Reading& reading, size_t piece, const std::shared_ptr<std::string>& so_far, size_t length) {
    const absl::Duration left = deadline_ - shared_->clock.Read().monotonic;
    if (left <= absl::ZeroDuration()) {
      return Finish(absl::DeadlineExceededError(absl::StrCat("node ", reading.node, " of ", shared_->agents,
                                                             " (from 0, in the order of ranks) has not come within ",
                                                             absl::FormatDuration(limit_))));
    }
    const auto longest = absl::ToChronoMilliseconds(std::min(left, absl::Milliseconds(kLongestStoreWaitMs)));
    shared_->store.Wait(absl::StrCat(reading.name, "/", piece), std::max(longest, std::chrono::milliseconds(1)),
                        [self = shared_from_this(), reading, piece, so_far,
                         length](const absl::StatusOr<std::optional<std::string>>& value) {
                          self->Take(reading, piece, so_far, length, value);
                        });
  }

  void Take(const Reading& reading, size_t piece, const std::shared_ptr<std::string>& so_far, size_t length,
            const absl::StatusOr<std::optional<std::string>>& value) {
    if (absl::IsDeadlineExceeded(value.status()) || absl::IsUnavailable(value.status())) {
      return ReadPiece(reading, piece, so_far, length);
    }
    if (!value.ok()) return Finish(value.status());
    absl::string_view bytes = value->has_value() ? absl::string_view(**value) : absl::string_view();
    if (piece == 0) {
      const std::optional<size_t> told = TakeLength(bytes);
      if (!told || *told > reading.most) {
        return Finish(
            absl::InvalidArgumentError(absl::StrCat("node ", reading.node, " wrote no length, or too large a one")));
      }
      length = *told;
    } else if (bytes.empty()) {
      return Finish(absl::InvalidArgumentError(absl::StrCat("node ", reading.node, " wrote an empty piece")));
    }
    so_far->append(bytes.data(), bytes.size());
    if (so_far->size() > length) {
      return Finish(absl::InvalidArgumentError(absl::StrCat("node ", reading.node, " wrote more than it said")));
    }
    if (so_far->size() == length) return reading.taken(std::move(*so_far));
    ReadPiece(reading, piece + 1, so_far, length);
  }

  void Delete(const std::string& name, size_t pieces) {
    for (size_t piece = 0; piece < pieces; ++piece) {
      shared_->store.Delete(absl::StrCat(name, "/", piece), [](const absl::Status&) {});
    }
  }

  void Finish(absl::StatusOr<Blobs> blobs) {
    if (!is_done_.exchange(true)) done_(std::move(blobs));
  }

  const std::shared_ptr<Shared> shared_;
  const uint32_t number_;
  const MonotonicTime deadline_;
  const absl::Duration limit_;
  const Done done_;
  Blobs blobs_;
  size_t own_pieces_ = 0;
  std::atomic<uint32_t> next_node_{1};
  std::atomic<uint32_t> left_{0};
  std::atomic<bool> is_done_{false};
};

Allgather::Allgather(JobStore& store, const Clock& clock, std::string name, uint32_t own, uint32_t agents)
    : shared_(std::make_shared<Shared>(Shared{store, clock, std::move(name), own, agents})) {}

void Allgather::Start(std::string blob, absl::Duration limit, Done done) {
  const uint32_t number = next_++;
  if (blob.size() > kMaxBlobBytes) {
    return done(absl::ResourceExhaustedError(absl::StrCat("the data of this node's ranks are ", blob.size(),
                                                          " bytes, and at most ", kMaxBlobBytes, " are passed on")));
  }
  if (shared_->agents == 1) return done(Blobs{std::move(blob)});
  std::make_shared<Operation>(shared_, number, limit, std::move(done))->Run(std::move(blob));
}

}  // namespace muster::agent
