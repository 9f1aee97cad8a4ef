#include "worker_agent/gateway/torch_store/client.h"

#include <optional>
#include <utility>

namespace muster::torch_store {
namespace {

constexpr int kRequestsAtOnce = 64;
constexpr size_t kMaxOutput = 1024 * 1024;  // stops reading from a client that has more bytes of answers to read
constexpr absl::Duration kStalledOutputTimeout = absl::Seconds(10);

}  // namespace

Client::Client(uint64_t id, Channel& channel, Shared& shared, TcpServerContext& context)
    : id_(id),
      channel_(channel),
      shared_(shared),
      context_(context),
      last_heard_(context.now),
      last_written_(context.now) {
  shared_.clients.emplace(id_, this);
}

Client::~Client() {
  context_.input_bytes -= counted_input_;
  shared_.output_bytes -= counted_output_;
  shared_.store.Forget(id_);
  shared_.clients.erase(id_);
}

void Client::Finish(const std::string& reason) {
  if (is_finished_) return;
  is_finished_ = true;
  reason_ = reason;
}

bool Client::wants_read() const { return !has_ended_ && !is_finished_ && !is_held_ && output_.bytes() <= kMaxOutput; }

bool Client::Serve() {
  if (is_finished_) return false;
  Write();
  is_held_ = false;
  if (wants_read() && !has_whole_one_) Read();
  HandleSome();
  Write();
  Count();
  if (has_ended_ && !has_whole_one_ && output_.is_empty()) Finish("");
  // If more than kMaxOutput must still be sent, or the client is held, an event of the connection continues the work.
  return !is_finished_ && has_whole_one_ && !is_held_ && output_.bytes() <= kMaxOutput;
}

void Client::Read() {
  std::vector<char>& bytes = shared_.scratch;
  size_t done = 0;
  const Stream::Io io = channel_.Read(bytes.data(), bytes.size(), &done);
  if (io == Stream::Io::kDone) decoder_.Append({bytes.data(), done});
  // Requests that came before the end still count: a SET has no answer, so its sender may close right after it.
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
}

void Client::HandleSome() {
  for (int i = 0; i < kRequestsAtOnce; ++i) {
    has_whole_one_ = true;
    if (is_finished_ || output_.bytes() > kMaxOutput) return;
    is_held_ = !shared_.has_room_for_answers();
    if (is_held_) return;
    absl::StatusOr<std::optional<Request>> request = decoder_.Next();
    has_whole_one_ = request.ok() && request->has_value();
    if (!request.ok()) {
      return Finish(std::string(request.status().message()));
    }
    if (!has_whole_one_) return;
    has_spoken_ = true;
    last_heard_ = context_.now;
    if (output_.is_empty()) last_written_ = context_.now;
    const absl::Status applied = shared_.store.Apply(id_, decoder_.dialect(), **std::move(request), output_);
    if (!applied.ok()) Finish(std::string(applied.message()));
  }
}

void Client::StopWaiting() {
  if (is_finished_) return;
  const bool was_empty = output_.is_empty();
  if (was_empty) last_written_ = context_.now;
  output_.AppendNumber(kStopWaiting);
  if (was_empty) Write();
  Count();
  if (is_finished_ || !output_.is_empty()) channel_.Touch();
}

void Client::Write() {
  if (is_finished_ || output_.is_empty()) return;
  const size_t before = output_.bytes();
  const Stream::Io io = output_.WriteTo(channel_, shared_.scratch);
  if (output_.bytes() != before) last_written_ = context_.now;
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) Finish("");
}

void Client::Count() {
  const size_t input = decoder_.buffered();
  context_.input_bytes += input - counted_input_;
  counted_input_ = input;
  const size_t output = output_.own_bytes();
  shared_.output_bytes += output - counted_output_;
  counted_output_ = output;
}

void Client::CheckTimes() {
  // A client may be stopped, and read again in an hour. That does no harm unless other clients are held because of it.
  const bool is_stalled = !output_.is_empty() && context_.now - last_written_ > kStalledOutputTimeout;
  if (is_stalled && !shared_.has_room_for_answers()) Finish("it does not read its answers, and others wait for room");
}

}  // namespace muster::torch_store
