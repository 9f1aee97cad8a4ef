// What ends a connection, besides its client:
//
//   no whole request within kRequestLimit       408
//   a request that is not taken (request.h)     its status
//   the answer is sent                          once the client has closed, or kGoodbyeLimit later
//   nothing of the answer taken for kStallLimit
#include "worker_agent/gateway/horovod/connection.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::horovod {
namespace {

constexpr absl::Duration kRequestLimit = absl::Seconds(10);
constexpr absl::Duration kStallLimit = absl::Seconds(10);
constexpr absl::Duration kGoodbyeLimit = absl::Seconds(1);
constexpr size_t kReadAtOnce = 16 * 1024;
constexpr size_t kMostDiscarded = 256 * 1024;

const char* PhraseOf(int status) {
  if (status == 200) return "OK";
  return status == 404 ? "Not Found" : status < 500 ? "Bad Request" : "Service Unavailable";
}

}  // namespace

bool Connection::wants_read() const {
  return !has_ended_ && !is_finished_ && (step_ == Step::kReading || step_ == Step::kClosing);
}

void Connection::Go(Step step) {
  step_ = step;
  since_ = context_.now;
}

bool Connection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  Write();
  if (wants_read()) Read();
  Write();
  context_.input_bytes += reader_.buffered() - counted_;
  counted_ = reader_.buffered();
  if (has_ended_ && (step_ == Step::kReading || step_ == Step::kClosing)) Finish("");
  return false;
}

void Connection::Read() {
  std::string bytes;
  const Stream::Io io = stream_.Read(kReadAtOnce, bytes);
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
  if (step_ == Step::kClosing) {
    // Closed at once, the kernel would take the answer back.
    discarded_ += bytes.size();
    if (discarded_ > kMostDiscarded) Finish("");
    return;
  }
  if (bytes.empty()) return;
  switch (reader_.Read(bytes)) {
    case RequestReader::State::kNeedsMore:
      return;
    case RequestReader::State::kBad:
      context_.counted->Note(Severity::kWarning, "Horovod's rendezvous: bad request",
                             absl::StrCat("a request to Horovod's rendezvous was answered with ", reader_.status(),
                                          ": see what connects to HOROVOD_GLOO_RENDEZVOUS_PORT"));
      return Say({reader_.status(), ""});
    case RequestReader::State::kWhole:
      break;
  }
  last_heard_ = context_.now;
  Go(Step::kWaiting);
  rendezvous_.Handle(client_.listener, reader_.request(),
                     [post = context_.post, id = client_.connection](Answer answer) {
                       post(id, [answer = std::move(answer)](TcpConnection& connection) {
                         static_cast<Connection&>(connection).Say(answer);
                       });
                     });
}

void Connection::Say(const Answer& answer) {
  output_ = absl::StrCat("HTTP/1.1 ", answer.status, " ", PhraseOf(answer.status),
                         "\r\nContent-Type: application/octet-stream\r\nContent-Length: ", answer.body.size(),
                         "\r\nConnection: close\r\n\r\n", answer.body);
  Go(Step::kAnswering);
}

void Connection::Write() {
  while (step_ == Step::kAnswering && !is_finished_) {
    if (written_ == output_.size()) {
      stream_.EndWriting();
      return Go(Step::kClosing);
    }
    size_t done = 0;
    const Stream::Io io = stream_.Write(std::string_view(output_).substr(written_), &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Finish("");
    written_ += done;
    since_ = context_.now;
  }
}

void Connection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  const absl::Duration since = context_.now - since_;
  if (step_ == Step::kReading && since > kRequestLimit) {
    if (reader_.buffered() == 0) return Finish("");
    Say({408, ""});
  } else if (step_ == Step::kAnswering && since > kStallLimit) {
    Finish("it does not read its answer");
  } else if (step_ == Step::kClosing && since > kGoodbyeLimit) {
    Finish("");
  }
}

}  // namespace muster::horovod
