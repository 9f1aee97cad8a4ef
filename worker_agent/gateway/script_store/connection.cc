// What ends a connection:
//
//   its client has closed its side, once all that it asked is answered
//   a line beyond kMaxLineBytes
//   no whole line within kLineLimit, once one has begun
//   nothing of the answer taken for kStallLimit
#include "worker_agent/gateway/script_store/connection.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::script_store {
namespace {

constexpr absl::Duration kLineLimit = absl::Seconds(10);
constexpr absl::Duration kStallLimit = absl::Seconds(30);
constexpr size_t kReadAtOnce = 64 * 1024;

}  // namespace

Connection::Connection(Stream stream, const TcpClient& client, Round& round, TcpServerContext& context)
    : TcpConnection(std::move(stream), client, context), round_(round) {
  round_.connections.insert(this);
}

Connection::~Connection() {
  round_.connections.erase(this);
  context_.input_bytes -= counted_;
}

bool Connection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  Write();
  if (wants_read()) Read();
  if (HasLine()) TakeLine();
  Write();
  Count();
  if (has_ended_ && !has_work() && !HasLine()) Finish("");
  return HasLine();
}

void Connection::Count() {
  context_.input_bytes += input_bytes() - counted_;
  counted_ = input_bytes();
}

bool Connection::HasLine() const {
  return !is_finished_ && !is_waiting_ && output_.empty() && input_.find('\n') != std::string::npos;
}

void Connection::Read() {
  std::string bytes;
  const Stream::Io io = stream_.Read(kReadAtOnce, bytes);
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
  if (bytes.empty()) return;
  if (input_.empty()) line_begun_at_ = context_.now;
  input_ += bytes;
  if (input_.size() > kMaxLineBytes && input_.find('\n') == std::string::npos) {
    Finish(absl::StrCat("a line of a request has ", kMaxLineBytes, " bytes at most"));
  }
}

void Connection::TakeLine() {
  const size_t end = input_.find('\n');
  const absl::StatusOr<Request> request = ReadRequest(std::string_view(input_).substr(0, end));
  input_.erase(0, end + 1);
  line_begun_at_ = last_heard_ = context_.now;
  has_spoken_ = true;
  if (!request.ok()) return Say(ErrorLine(request.status()));
  if (round_.end) return Say(*round_.end);
  is_waiting_ = true;
  round_.operations->Handle(
      *request, [post = context_.post, id = client_.connection, number = ++number_](const std::string& line) {
        post(id, [line, number](TcpConnection& connection) {
          auto& own = static_cast<Connection&>(connection);
          if (own.is_waiting_ && own.number_ == number) own.Say(line);
        });
      });
}

void Connection::TellEnd() {
  if (!is_waiting_) return;
  Say(*round_.end);
  context_.touch(client_.connection);
}

void Connection::Say(std::string line) {
  is_waiting_ = false;
  output_ = std::move(line);
  written_ = 0;
  moved_at_ = context_.now;
  Count();
}

void Connection::Write() {
  while (!output_.empty() && !is_finished_) {
    if (written_ == output_.size()) return output_.clear();
    size_t done = 0;
    const Stream::Io io = stream_.Write(std::string_view(output_).substr(written_), &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Finish("");
    written_ += done;
    moved_at_ = context_.now;
  }
}

void Connection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  const bool is_reading = !is_waiting_ && output_.empty();
  if (is_reading && !input_.empty() && context_.now - line_begun_at_ > kLineLimit) {
    Finish("it has begun a line and does not end it");
  } else if (!output_.empty() && context_.now - moved_at_ > kStallLimit) {
    Finish("it does not read its answer");
  }
}

}  // namespace muster::script_store
