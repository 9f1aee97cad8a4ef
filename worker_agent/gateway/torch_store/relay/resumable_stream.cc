#include "worker_agent/gateway/torch_store/relay/resumable_stream.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::torch_store {
namespace {

constexpr size_t kRecordHeaderBytes = sizeof(uint64_t) + sizeof(uint32_t);
constexpr size_t kAcknowledgedAtOnce = 256 * 1024;  // after so many bytes an acknowledgement is due
constexpr size_t kErasedAtOnce = 256 * 1024;

}  // namespace

absl::Status ResumableStream::Confirm(uint64_t received_there) {
  if (received_there < base_ || received_there > sent_ever_) {
    return absl::InvalidArgumentError(absl::StrCat("it confirms byte ", received_there, " of a link, but only ", base_,
                                                   " to ", sent_ever_, " are possible"));
  }
  at_ += received_there - base_;
  base_ = received_there;
  sent_ = std::max(sent_, base_);
  if (at_ == buffer_.size() || at_ > kErasedAtOnce) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  return absl::OkStatus();
}

absl::Status ResumableStream::TakeHeader() {
  uint64_t received_there = 0;
  uint32_t size = 0;
  std::memcpy(&received_there, header_.data(), sizeof(received_there));
  std::memcpy(&size, header_.data() + sizeof(received_there), sizeof(size));
  header_.clear();
  if (size > kMaxRecordBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a record of ", size, " bytes on a link; the limit is ", kMaxRecordBytes));
  }
  in_record_ = size;
  return Confirm(received_there);
}

absl::Status ResumableStream::Receive(std::string_view bytes,
                                      const std::function<absl::Status(std::string_view)>& take) {
  while (!bytes.empty()) {
    if (in_record_ == 0) {
      const size_t part = std::min(bytes.size(), kRecordHeaderBytes - header_.size());
      header_.append(bytes.substr(0, part));
      bytes.remove_prefix(part);
      if (header_.size() < kRecordHeaderBytes) break;
      if (absl::Status status = TakeHeader(); !status.ok()) return status;
      continue;
    }
    const std::string_view part = bytes.substr(0, in_record_);
    bytes.remove_prefix(part.size());
    in_record_ -= part.size();
    received_ += part.size();
    if (absl::Status status = take(part); !status.ok()) return status;
  }
  if (received_ - acknowledged_ >= kAcknowledgedAtOnce) must_acknowledge_ = true;
  return absl::OkStatus();
}

void ResumableStream::Fill(std::string& out, size_t most) {
  while (has_more() && out.size() < most) {
    const std::string_view rest = std::string_view(buffer_).substr(at_ + static_cast<size_t>(sent_ - base_));
    const std::string_view part = rest.substr(0, kMaxRecordBytes);
    const auto size = static_cast<uint32_t>(part.size());
    out.append(reinterpret_cast<const char*>(&received_), sizeof(received_));
    out.append(reinterpret_cast<const char*>(&size), sizeof(size));
    out.append(part);
    sent_ += part.size();
    sent_ever_ = std::max(sent_ever_, sent_);
    acknowledged_ = received_;
    must_acknowledge_ = false;
  }
}

absl::Status ResumableStream::Resume(uint64_t received_there) {
  if (absl::Status status = Confirm(received_there); !status.ok()) return status;
  sent_ = received_there;
  header_.clear();
  in_record_ = 0;
  acknowledged_ = received_;  // the hello or its answer acknowledges the bytes received so far
  must_acknowledge_ = false;
  return absl::OkStatus();
}

}  // namespace muster::torch_store
