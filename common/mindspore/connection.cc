#include "common/mindspore/connection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace muster::mindspore {
namespace {

constexpr size_t kReadAtOnce = 16 * 1024;
constexpr int kFramesAtOnce = 4;
// Old clients (seen with 2.0.0) begin to wait for an answer only after they have sent their request, and miss an answer
// that comes earlier. One such client registered again only after half a minute.
constexpr absl::Duration kAnswerDelay = absl::Milliseconds(3);
// A client asks again for a missing key after half a second or three seconds, never at once.
constexpr absl::Duration kPollPause = absl::Milliseconds(400);
constexpr absl::Duration kHalfFrameTimeout = absl::Seconds(10);
constexpr absl::Duration kStalledOutputTimeout = absl::Seconds(10);
constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);

}  // namespace

FrameConnection::FrameConnection(Stream stream, const Peer& peer, std::string own_address, DialectGuess& guess,
                                 Cluster& cluster, TcpServerContext& context)
    : TcpConnection(std::move(stream), peer, context),
      own_address_(std::move(own_address)),
      guess_(guess),
      cluster_(cluster),
      opened_at_(context.now),
      last_whole_(context.now),
      last_written_(context.now) {}

FrameConnection::~FrameConnection() { context_.input_bytes -= counted_input_; }

bool FrameConnection::wants_read() const {
  if (has_ended_ || is_finished_) return false;
  if (opening_ != Opening::kOpen) return true;
  return !is_pending_ && !held_ && output_.size() <= kMaxMindSporeOutputBytes;
}

bool FrameConnection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  WriteSome();
  if (wants_read() && needs_more_) ReadSome();
  HandleSome();
  WriteSome();
  CountInput();
  if (is_finished_) return false;
  const bool has_more = !needs_more_ && !is_pending_ && !held_ && output_.size() <= kMaxMindSporeOutputBytes;
  if (has_ended_ && !has_more && !is_pending_ && !held_) Finish("");
  return !is_finished_ && (has_more || (wants_read() && stream_.HasHiddenInput()));
}

void FrameConnection::ReadSome() {
  std::string bytes;
  const Stream::Io io = stream_.Read(kReadAtOnce, bytes);
  decoder_.Append(bytes);
  // Input that came before the end still counts. A write has no answer, so its sender may close the connection right
  // after it.
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
}

void FrameConnection::HandleSome() {
  for (int i = 0; i < kFramesAtOnce; ++i) {
    if (is_finished_ || is_pending_ || output_.size() > kMaxMindSporeOutputBytes) return;
    if (!held_) {
      absl::StatusOr<std::optional<Frame>> frame = decoder_.Next();
      if (!frame.ok()) return Finish(std::string(frame.status().message()));
      needs_more_ = !frame->has_value();
      if (needs_more_) {
        if (decoder_.buffered() == 0) last_whole_ = context_.now;
        return;
      }
      ++frames_;
      last_heard_ = last_whole_ = context_.now;
      held_ = **std::move(frame);
    }
    const std::optional<uint32_t> number = RequestNumber(held_->name);
    if (number == kWriteMetadata && !cluster_.HasRoomForWrites()) return;
    const Frame frame = *std::exchange(held_, std::nullopt);
    // A name that is no number is a request of a newer MindSpore. It gets no answer, as from MindSpore's own scheduler.
    if (number) Handle(*number, frame);
  }
}

void FrameConnection::NoteDialect(uint32_t number, const Frame& frame) {
  if (number == kRegister && frames_ == 1) guess_.Registered(context_.now - opened_at_);
  guess_.Asked(number);
  const std::optional<std::string> key = AskedKey(number, frame.body);
  const std::optional<size_t> digest = key ? std::optional<size_t>(std::hash<std::string>()(*key)) : std::nullopt;
  if (was_there_) {
    if (digest != asked_) {
      guess_.Understood();
    } else if (context_.now - answered_at_ > kPollPause && key->find("EXCHANGE_META") == std::string::npos) {
      // Keys with EXCHANGE_META don't count: clients poll them until the value changes, although they understand the
      // answer.
      guess_.Misunderstood();
    }
  }
  asked_ = digest;
  was_there_ = false;
}

void FrameConnection::Handle(uint32_t number, const Frame& frame) {
  NoteDialect(number, frame);
  ++request_;
  AnswerDone done = [post = context_.post, id = client_.connection, request = request_](Answer answer) {
    post(id, [request, answer = std::move(answer)](TcpConnection& connection) {
      static_cast<FrameConnection&>(connection).Complete(request, answer);
    });
  };
  Answer answer =
      HandleRequest(cluster_, client_, guess_.current(), number, frame.body, context_.counted, std::move(done));
  switch (answer.kind) {
    case Answer::Kind::kSilence:
      break;
    case Answer::Kind::kReply:
      Reply(answer);
      break;
    case Answer::Kind::kPending:
      is_pending_ = true;
      pending_since_ = context_.now;
      substitute_ = std::move(answer);
      break;
  }
}

void FrameConnection::Complete(uint64_t request, Answer answer) {
  if (!is_pending_ || request != request_) return;  // too late: the request already has its answer
  is_pending_ = false;
  substitute_ = {};
  Reply(answer);
}

void FrameConnection::Reply(const Answer& answer) {
  answered_at_ = context_.now;
  was_there_ = asked_ && answer.number == ThereNumber(guess_.current());
  if (output_.empty()) last_written_ = context_.now;
  const bool may_be_too_fast = guess_.current() == Dialect::kOld || answer.number == kSuccess;
  if (may_be_too_fast) write_at_ = context_.now + kAnswerDelay;
  output_ += EncodeFrame(MakeReply(answer.number, own_address_, answer.body));
}

void FrameConnection::WriteSome() {
  if (is_delayed()) return;
  size_t written = 0;
  while (written < output_.size()) {
    size_t done = 0;
    const Stream::Io io = stream_.Write(std::string_view(output_).substr(written), &done);
    if (io == Stream::Io::kAgain) break;
    if (io != Stream::Io::kDone) {
      output_.clear();
      return Finish("");
    }
    written += done;
    last_written_ = context_.now;
  }
  output_.erase(0, written);
  if (output_.empty() && output_.capacity() > kMaxMindSporeOutputBytes) std::string().swap(output_);
}

void FrameConnection::CountInput() {
  const size_t bytes = decoder_.buffered() + (held_ ? held_->body.size() : 0);
  context_.input_bytes += bytes - counted_input_;
  counted_input_ = bytes;
}

void FrameConnection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  const MonotonicTime now = context_.now;
  if (opening_ == Opening::kOpen && decoder_.buffered() > 0 && !is_pending_ && !held_ &&
      output_.size() <= kMaxMindSporeOutputBytes && now - last_whole_ > kHalfFrameTimeout) {
    return Finish(absl::StrCat("a message was not complete within ", absl::FormatDuration(kHalfFrameTimeout)));
  }
  if (!output_.empty() && now - last_written_ > kStalledOutputTimeout) {
    return Finish("it does not read its answers");
  }
  if (is_pending_ && now - pending_since_ > kAnswerTimeout) Complete(request_, substitute_);
}

void FrameConnection::FlushAtEnd() {
  if (is_finished_ || opening_ != Opening::kOpen) return;
  if (is_pending_) Complete(request_, substitute_);
  write_at_ = context_.now;
  WriteSome();
}

}  // namespace muster::mindspore
