#include "worker_agent/gateway/chassis/allgather.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"
#include "worker_agent/gateway/chassis/store_text.h"

namespace muster::agent {
namespace {

constexpr uint32_t kReadersOfFirst = 16;  // nodes from which the first agent reads at the same time

std::string Join(const Allgather::Blobs& blobs) {
  std::string all;
  for (const std::string& blob : blobs) absl::StrAppend(&all, LengthText(blob.size()), blob);
  return all;
}

absl::StatusOr<Allgather::Blobs> Split(std::string_view all, uint32_t agents) {
  Allgather::Blobs blobs;
  while (!all.empty()) {
    const std::optional<size_t> length = TakeLength(all);
    if (!length || *length > all.size() || blobs.size() == agents) {
      return absl::InvalidArgumentError("the data that the first node gathered is damaged");
    }
    blobs.emplace_back(all.substr(0, *length));
    all.remove_prefix(*length);
  }
  if (blobs.size() != agents)
    return absl::InvalidArgumentError("the data that the first node gathered does not come from all nodes");
  return blobs;
}

}  // namespace

// Each pending store call keeps a reference to the operation. The calls run one after another, except those with which
// the first agent reads the blobs. Those run at the same time, share only atomics, and each writes only its own element
// of blobs_.
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

  // Reads the blob of the next node that no reader has taken yet, and then goes on with the next one.
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
      return Finish(absl::ResourceExhaustedError(
          absl::StrCat("the data of all nodes are ", all.size(), " bytes; the limit is ", kMaxAllBytes)));
    }
    Write(Result(), all, [self = shared_from_this(), pieces = PiecesOf(all.size())] {
      // Since all nodes have come to this allgather, all have read the result of the previous one.
      if (self->number_ > 0) self->Delete(self->ResultOf(self->number_ - 1), self->shared_->last_pieces);
      self->shared_->last_pieces = pieces;
      self->Finish(std::move(self->blobs_));
    });
  }

  void TakeResult(const std::string& all) {
    Delete(NameOf(shared_->own), own_pieces_);
    Finish(Split(all, shared_->agents));
  }

  void Write(const std::string& name, const std::string& bytes, Next next) {
    WriteText(shared_->store, name, bytes, [self = shared_from_this(), next](const absl::Status& status) {
      if (!status.ok()) return self->Finish(status);
      next();
    });
  }

  // `node` is the index of the node that wrote the text.
  void Read(const std::string& name, size_t most, uint32_t node, Taken taken) {
    ReadText(shared_->store, shared_->clock, {name, most, deadline_},
             [self = shared_from_this(), node, taken = std::move(taken)](absl::StatusOr<std::string> text) {
               if (!text.ok()) return self->Finish(self->Explain(text.status(), node));
               taken(*std::move(text));
             });
  }

  absl::Status Explain(const absl::Status& status, uint32_t node) const {
    if (absl::IsDeadlineExceeded(status)) {
      return absl::DeadlineExceededError(absl::StrCat("node ", node, " of ", shared_->agents,
                                                      " (from 0, in the order of ranks) has not sent its data within ",
                                                      absl::FormatDuration(limit_)));
    }
    if (!absl::IsInvalidArgument(status)) return status;
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " ", std::string(status.message())));
  }

  void Delete(const std::string& name, size_t pieces) { DeleteText(shared_->store, name, pieces); }

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
    return done(absl::ResourceExhaustedError(
        absl::StrCat("the data of this node's ranks are ", blob.size(), " bytes; the limit is ", kMaxBlobBytes)));
  }
  if (shared_->agents == 1) return done(Blobs{std::move(blob)});
  std::make_shared<Operation>(shared_, number, limit, std::move(done))->Run(std::move(blob));
}

}  // namespace muster::agent
