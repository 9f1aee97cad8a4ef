#include "worker_agent/gateway/torch_store/output.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace muster::torch_store {
namespace {

constexpr size_t kCopied = 128;           // larger values are shared; a reference takes about this much memory
constexpr size_t kMaxEmpty = 1024;        // this many written pieces are kept before they are erased
constexpr size_t kPieceBytes = 4 * 1024;  // a piece that is not shared grows to about this size

}  // namespace

void Output::Append(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool has_room = !pieces_.empty() && pieces_.back().value == nullptr && pieces_.back().own.size() < kPieceBytes;
  if (!has_room) pieces_.emplace_back();
  pieces_.back().own.append(bytes);
  bytes_ += bytes.size();
  own_bytes_ += bytes.size();
}

void Output::AppendText(std::string_view text) {
  AppendNumber<uint64_t>(text.size());
  Append(text);
}

void Output::AppendValue(const ValuePtr& value) {
  if (value->text().size() <= kCopied) return AppendText(value->text());
  AppendNumber<uint64_t>(value->text().size());
  pieces_.push_back({"", value});
  bytes_ += value->text().size();
  own_bytes_ += sizeof(Piece);
}

// Returns the bytes to write next. Joins several small pieces in `scratch`, because one more write costs the kernel
// more than the copy.
std::string_view Output::Gather(std::vector<char>& scratch) const {
  const std::string_view first = pieces_[first_].text().substr(at_);
  if (first_ + 1 == pieces_.size() || first.size() >= scratch.size()) return first;
  size_t size = 0;
  size_t from = at_;
  for (size_t i = first_; i < pieces_.size() && size < scratch.size(); ++i) {
    const std::string_view text = pieces_[i].text().substr(from, scratch.size() - size);
    std::memcpy(scratch.data() + size, text.data(), text.size());
    size += text.size();
    from = 0;
  }
  return {scratch.data(), size};
}

void Output::Drop(size_t bytes) {
  bytes_ -= bytes;
  at_ += bytes;
  while (first_ < pieces_.size() && at_ >= pieces_[first_].text().size()) {
    Piece& piece = pieces_[first_++];
    at_ -= piece.text().size();
    own_bytes_ -= piece.value != nullptr ? sizeof(Piece) : piece.own.size();
    piece = {};
  }
  if (first_ < pieces_.size()) {
    if (first_ < kMaxEmpty) return;
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    return;
  }
  first_ = at_ = 0;
  if (pieces_.capacity() > 16) {
    std::vector<Piece>().swap(pieces_);
  } else {
    pieces_.clear();
  }
}

Stream::Io Output::WriteTo(Channel& channel, std::vector<char>& scratch) {
  while (!is_empty()) {
    size_t done = 0;
    const Stream::Io io = channel.Write(Gather(scratch), &done);
    if (io != Stream::Io::kDone) return io;
    Drop(done);
  }
  return Stream::Io::kDone;
}

}  // namespace muster::torch_store
