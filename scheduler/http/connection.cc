// The reasons to close a connection, and the answer to its client:
//
//   no complete request within kMaxRequestTime of its first byte  408
//   a request that is refused (see request.h)                     its status
//   the last answer was sent                                      silently: the client closes, or after kMaxGoodbyeTime
//   no request for kMaxIdleTime                                   silently
//   the client takes nothing of an answer for kMaxStall, or not
//   all of it within kMaxAnswerTime, or after kLeisure takes it
//   at less than kLeastRate                                       silently
//   the client has hung up, and its answer is not there after
//   kHangUpGrace                                                  silently
//   there is no room for a new client (see yields)                silently
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
constexpr absl::Duration kSignOfLife = absl::Seconds(15);  // sent by an event stream without events
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

// Begins to write the response; null: nothing. If the answers being sent leave no room for it, writes a short error.
void HttpConnection::Put(ResponsePtr response) {
  if (response != nullptr && !site_.under_way().Begin(*response)) {
    response = MakeResponse(503, kPlainText, "the server is still sending too much to other clients: try again\n");
  }
  if (response_ != nullptr) site_.under_way().End(*response_);
  response_ = std::move(response);
}

// Ranks connections that may be closed to make room: those without an identity, or beyond what Site::OpenKnown lets
// stay. First those that wait for the core or for their client's next request; then those that have not asked yet (the
// next to do so may be a health check); then those being answered, or that asked for metrics. Streams have their own
// limit.
int HttpConnection::yields() const {
  if (is_known_ || is_streaming_) return 0;
  if (!has_spoken_) return 2;
  return is_writing() || (is_waiting_ && request_.target.path == kMetricsPath) ? 1 : 3;
}

// True also for a client that only closed its own direction and still reads.
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

// Reads and drops what the client still sends after its last answer: if we closed at once, the kernel would discard the
// answer.
void HttpConnection::Discard() {
  const Stream::Io io = stream_.Read(kReadAtOnce, input_);
  discarded_ += input_.size();
  input_.clear();
  if (io == Stream::Io::kClosed || io == Stream::Io::kFailed || discarded_ > kMaxDiscarded) Finish("");
}

void HttpConnection::HandleOne() {
  if (is_answering() || is_closing_ || is_finished_ || input_.empty()) return;
  if (!has_begun_) asked_ = context_.now;  // (what the reader has taken is no longer in input_)
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

// Takes the next events of a stream. False: there is nothing to write.
bool HttpConnection::TakePiece() {
  if (response_->status == 200 && response_->body.empty() && context_.now - progress_ > kSignOfLife) {
    Put(MakeResponse(200, kEventStream, ":\n\n"));  // a comment
  }
  if (response_->status == 200 && !response_->body.empty()) return true;
  if (response_->status != 200 && response_->status != 503) Finish("");  // it has lost its permission
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
