// The reasons to close a connection, and the answer that its client gets first ("none": it is closed without one):
//
//   a request is not complete kMaxRequestTime after its first byte   408
//   a request is refused (see request.h)                             the status of the refusal
//   the last answer was sent                                         none; we wait for the client to close first, but
//                                                                    no longer than kMaxGoodbyeTime
//   no request came for kMaxIdleTime (the first: kMaxRequestTime)    none
//   the client takes no byte of an answer for kMaxStall              none
//   the client has not taken the whole answer in kMaxAnswerTime      none
//   the client takes the answer at less than kLeastRate, measured
//   from kLeisure on                                                 none
//   the client has hung up, and its answer is not ready
//   kHangUpGrace after the request                                   none
//   a new client needs the room (see yields)                         none
#include "scheduler/http/connection.h"

#include <poll.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/fair_share.h"
#include "common/net/ip_address.h"
#include "common/sys/wait.h"

namespace muster::http {
namespace {

constexpr absl::Duration kMaxRequestTime = absl::Seconds(10);
constexpr absl::Duration kMaxIdleTime = absl::Seconds(75);
constexpr absl::Duration kMaxStall = absl::Seconds(10);
constexpr absl::Duration kMaxAnswerTime = absl::Seconds(120);
constexpr absl::Duration kLeisure = absl::Seconds(10);
constexpr double kLeastRate = 32 * 1024;                   // bytes a second of one answer
constexpr absl::Duration kSignOfLife = absl::Seconds(15);  // how often an event stream without events sends a comment
constexpr absl::Duration kMaxGoodbyeTime = absl::Seconds(1);
constexpr absl::Duration kHangUpGrace = absl::Seconds(1);
constexpr size_t kMaxDiscarded = 256 * 1024;
constexpr size_t kReadAtOnce = 16 * 1024;

}  // namespace

HttpConnection::HttpConnection(Stream stream, const TcpClient& client, Site& site, bool takes_names,
                               TcpServerContext& context)
    : TcpConnection(std::move(stream), client, context),
      site_(site),
      takes_names_(takes_names),
      client_key_(FairShare(client_.address).bytes()),
      asked_(context.now),
      progress_(context.now) {}

HttpConnection::~HttpConnection() {
  context_.input_bytes -= counted_input_;
  if (is_streaming_) site_.CloseStream();
  if (is_known_) site_.CloseKnown(client_key_);
  if (is_waiting_) site_.Forget(client_.connection);
  Put(nullptr);
}

// Makes `response` the one to be written; null: there is nothing to write. If the large answers that are being sent to
// other clients leave no memory for it (see UnderWay), writes a short error instead.
void HttpConnection::Put(ResponsePtr response) {
  if (response != nullptr && !site_.under_way().Begin(*response)) {
    response = MakeResponse(503, kPlainText, "the server is still sending too much to other clients: try again\n");
  }
  if (response_ != nullptr) site_.under_way().End(*response_);
  response_ = std::move(response);
}

// Returns how readily this connection is closed to make room for a new client; the highest number is closed first.
//
//   0  never: the client has shown an identity and Site::OpenKnown lets it stay, or this is an event stream (streams
//      have a limit of their own)
//   1  an answer is being written, or the client waits for metrics
//   2  the client has not sent a request yet; it may be about to make a health check
//   3  the client waits for the core, or we wait for its next request
int HttpConnection::yields() const {
  if (is_known_ || is_streaming_) return 0;
  if (!has_spoken_) return 2;
  return is_writing() || (is_waiting_ && request_.target.path == kMetricsPath) ? 1 : 3;
}

// True if the client has closed the connection. A client that has closed only its sending direction, and still reads,
// looks the same.
bool HttpConnection::HasHungUp() const {
  return (LookAt(stream_.fd(), POLLRDHUP) & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool HttpConnection::Serve() {
  if (is_finished_ || opening_ != Opening::kOpen) return false;
  Write();
  if (is_closing_ || (is_streaming_ && wants_read())) {
    Discard();
    return false;
  }
  if (wants_read()) Read();
  HandleOne();
  Write();
  context_.input_bytes += input_.size() - counted_input_;
  counted_input_ = input_.size();
  if (is_finished_) return false;
  if (!is_answering() && !is_closing_ && has_ended_) Finish("");
  return !is_finished_ && wants_read() && stream_.HasHiddenInput();
}

void HttpConnection::Read() {
  const Stream::Io io = stream_.Read(kReadAtOnce, input_);
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed) has_ended_ = true;
}

// Reads and drops what the client still sends after its last answer. Without this, closing a socket with unread input
// makes the kernel reset the connection, and the client may lose the answer.
void HttpConnection::Discard() {
  const Stream::Io io = stream_.Read(kReadAtOnce, input_);
  discarded_ += input_.size();
  input_.clear();
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed || discarded_ > kMaxDiscarded) Finish("");
}

void HttpConnection::HandleOne() {
  if (is_answering() || is_closing_ || is_finished_ || input_.empty()) return;
  if (!has_begun_) asked_ = context_.now;  // these are the request's first bytes
  has_begun_ = true;
  switch (reader_.Read(input_)) {
    case RequestReader::State::kNeedsMore:
      return;
    case RequestReader::State::kBad:
      keeps_alive_ = is_head_ = has_begun_ = false;
      input_.clear();
      context_.counted->Note(
          Severity::kWarning, "http: bad request",
          absl::StrCat("refused a request from ", client_.address.ToString(), ": ", reader_.error().text));
      return Answer(MakeResponse(reader_.error().status, kPlainText, reader_.error().text + "\n"));
    case RequestReader::State::kWhole:
      break;
  }
  has_spoken_ = true;
  has_begun_ = false;
  last_heard_ = context_.now;
  request_ = reader_.request();
  reader_.Reset();
  keeps_alive_ = request_.keeps_alive;
  is_head_ = request_.is_head;
  if (request_.target.path == kChangesPath && !request_.last_event_id.empty()) {
    request_.target.query["after"] = request_.last_event_id;
  }
  Ask();
}

void HttpConnection::Ask() {
  is_waiting_ = true;
  const scheduler::PeerFacts peer = scheduler::FactsOf(JoinHostPort(client_.address.ToString(), 0),
                                                       stream_.has_tls() ? &stream_.client() : nullptr, takes_names_);
  const bool shows_identity = site_.Handle(
      request_,
      {.peer = peer, .has_tls = stream_.has_tls(), .connection = client_.connection, .client_key = client_key_},
      [post = context_.post, id = client_.connection](ResponsePtr response) {
        post(id, [response = std::move(response)](TcpConnection& connection) {
          static_cast<HttpConnection&>(connection).Answer(response);
        });
      });
  if (shows_identity && !is_known_) is_known_ = site_.OpenKnown(client_key_);
}

void HttpConnection::Answer(ResponsePtr response) {
  is_waiting_ = false;
  Put(std::move(response));
  asked_ = context_.now;
  if (is_streaming_ && !TakePiece()) return;
  const bool begins_stream = !is_streaming_ && response_->status == 200 && response_->content_type == kEventStream;
  if (begins_stream) {
    keeps_alive_ = false;
    is_streaming_ = !is_head_ && site_.OpenStream();
    if (!is_streaming_ && !is_head_) Put(MakeResponse(503, kPlainText, "too many event streams: try again\n"));
  }
  if (response_->cursor != 0) request_.target.query["after"] = absl::StrCat(response_->cursor);
  header_ = is_streaming_ && !begins_stream ? "" : HeaderOf(*response_, keeps_alive_);
  written_ = 0;
  progress_ = context_.now;
}

// Decides what an event stream writes for the site's latest response. True: response_ is to be written. False: there is
// nothing to write now. Ends the connection if its client may no longer see the events.
bool HttpConnection::TakePiece() {
  if (response_->status == 200 && response_->body.empty() && context_.now - progress_ > kSignOfLife) {
    Put(MakeResponse(200, kEventStream, ":\n\n"));  // a comment, which browsers ignore
  }
  if (response_->status == 200 && !response_->body.empty()) return true;
  if (response_->status != 200 && response_->status != 503) Finish("");  // the client has lost its permission
  Put(nullptr);
  return false;
}

void HttpConnection::Write() {
  while (is_writing()) {
    const std::string_view body = is_head_ ? std::string_view() : std::string_view(response_->body);
    const std::string_view rest =
        written_ < header_.size() ? std::string_view(header_).substr(written_) : body.substr(written_ - header_.size());
    if (rest.empty()) {
      Put(nullptr);
      header_.clear();
      asked_ = context_.now;
      if (!keeps_alive_ && !is_streaming_) {
        is_closing_ = true;
        stream_.EndWriting();
      }
      return;
    }
    size_t done = 0;
    const Stream::Io io = stream_.Write(rest, &done);
    if (io == Stream::Io::kAgain) return;
    if (io != Stream::Io::kDone) return Finish("");
    written_ += done;
    progress_ = context_.now;
  }
}

void HttpConnection::CheckTimes() {
  if (is_finished_) return;
  TcpConnection::CheckTimes();
  const absl::Duration since = context_.now - asked_;
  if (is_closing_) {
    if (since > kMaxGoodbyeTime) Finish("");
  } else if (is_writing()) {
    const bool is_slow = since > kLeisure && static_cast<double>(written_) < kLeastRate * absl::ToDoubleSeconds(since);
    if (context_.now - progress_ > kMaxStall || since > kMaxAnswerTime || is_slow)
      Finish("it does not read its answer");
  } else if (is_streaming_) {
    if (!is_waiting_ && since >= Questions::kFresh) Ask();
  } else if (is_waiting_) {
    if (context_.now - last_heard_ > kHangUpGrace && HasHungUp()) Finish("");
  } else if ((has_begun_ || !input_.empty()) && since > kMaxRequestTime) {
    keeps_alive_ = is_head_ = has_begun_ = false;
    input_.clear();
    Answer(MakeResponse(408, kPlainText, "the request was not complete in time\n"));
  } else if (since > (has_spoken_ ? kMaxIdleTime : kMaxRequestTime)) {
    Finish("");
  }
}

}  // namespace muster::http
