// The effect of a hello depends on the session that the store has for the relay's node:
//
//   the store has …         the same session    another session        none
//   a new session           continues it        begins a new session   begins a new session
//                                               if the old one has no
//                                               connection; otherwise
//                                               the relay must wait
//   a session to continue   continues it        answers "not known"    answers "not known"
#include "worker_agent/gateway/torch_store/relay/links.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/net.h"

namespace muster::torch_store {
namespace {

constexpr uint64_t kVirtual = uint64_t{1} << 63;  // ids from here on are for clients without a connection of their own

// One session's incomplete requests may take 1/kPartsOfInput of the store's room for all incomplete requests.
constexpr size_t kPartsOfInput = 4;

uint64_t NextVirtual() {
  static std::atomic<uint64_t> last = kVirtual;
  return ++last;
}

}  // namespace

// One client on the link.
struct Session::Virtual final : Channel {
  Virtual(Session& session, uint32_t id)
      : session(session), id(id), client(NextVirtual(), *this, session.shared_, session.context_) {}

  Stream::Io Read(char* out, size_t most, size_t* done) override {
    const std::string_view bytes = session.mux_.Peek(id).substr(0, most);
    if (bytes.empty()) return session.mux_.IsAtEnd(id) ? Stream::Io::kClosed : Stream::Io::kAgain;
    std::memcpy(out, bytes.data(), bytes.size());
    session.mux_.Consume(id, bytes.size());
    *done = bytes.size();
    return Stream::Io::kDone;
  }
  Stream::Io Write(std::string_view bytes, size_t* done) override {
    bytes = bytes.substr(0, session.mux_.Room(id));
    if (bytes.empty()) {
      if (session.mux_.is_full() && session.first_without_room_ == 0) session.first_without_room_ = id;
      return Stream::Io::kAgain;
    }
    session.mux_.Write(id, bytes);
    // While the session serves its clients, no touch is needed: LinkEnd::Serve flushes the link afterwards.
    if (!session.is_serving_ && session.link != 0) session.context_.touch(session.link);
    *done = bytes.size();
    return Stream::Io::kDone;
  }
  void Touch() override {
    session.Touch(id);
    if (!session.is_serving_ && session.link != 0) session.context_.touch(session.link);
  }
  // True if the client must be served again although no event will announce it.
  bool HasUnread() const { return client.wants_read() && (!session.mux_.Peek(id).empty() || session.mux_.IsAtEnd(id)); }

  Session& session;
  const uint32_t id;
  Client client;
  bool is_ready = false;  // true if ready_ has this client
};

Session::Session(std::string secret, size_t places, const LinksOptions& options, Shared& shared,
                 TcpServerContext& context)
    : secret_(std::move(secret)),
      places_(places),
      options_(options),
      shared_(shared),
      context_(context),
      mux_(Mux::Side::kStore, {.opened = [this](uint32_t id) { Open(id); },
                               .touched = [this](uint32_t id) { Touch(id); },
                               .has_room = [this] { TouchAll(); }}) {}

Session::~Session() {
  clients_.clear();
  context_.input_bytes -= counted_;
  shared_.output_bytes -= counted_kept_;
}

// Returns why no client can be added; empty: one can. Clients that have closed still count until they are gone. Since
// new ones may come before that, the session may have as many more clients as its agent has closed, up to twice its
// places in all.
std::string Session::WhyNoPlace() const {
  if (shared_.clients.size() >= options_.max_clients) return absl::StrCat(options_.max_clients, " are open");
  if (clients_.size() < places_ || clients_.size() - places_ < std::min(mux_.closed_there(), places_)) return "";
  return absl::StrCat(places_, " of this agent's processes are open");
}

void Session::Open(uint32_t id) {
  const std::string why_not = WhyNoPlace();
  if (why_not.empty()) {
    clients_.emplace(id, std::make_unique<Virtual>(*this, id));
    return;
  }
  context_.counted->Note(Severity::kWarning, "PyTorch's store: too many connections",
                         absl::StrCat("a connection was closed: ", why_not));
  ready_.push_back(id);  // closed later, since the mux is in the middle of a frame
}

void Session::Touch(uint32_t id) {
  const auto found = clients_.find(id);
  if (found != clients_.end() && !std::exchange(found->second->is_ready, true)) ready_.push_back(id);
}

// Lets the clients that want to write be served in turn, from the first one that found no room. Otherwise the clients
// before it would take all the room again.
void Session::TouchAll() {
  for (const auto& [id, client] : clients_) {
    if (client->client.wants_write()) Touch(id);
  }
  std::sort(ready_.begin(), ready_.end());
  const auto first = std::lower_bound(ready_.begin(), ready_.end(), std::exchange(first_without_room_, 0));
  std::rotate(ready_.begin(), first, ready_.end());
}

absl::Status Session::Receive(std::string_view bytes) {
  absl::Status status = mux_.Receive(bytes);
  Count();
  if (!status.ok()) return status;
  const size_t most = shared_.limits.input_bytes / kPartsOfInput;
  if (context_.input_bytes <= most || input_bytes() <= most) return absl::OkStatus();  // (the first test is cheap)
  return absl::ResourceExhaustedError(absl::StrCat("unfinished requests of that node's processes take more than ", most,
                                                   " bytes: find the process there that sends large values slowly"));
}

bool Session::ServeClients() {
  is_serving_ = true;
  for (const uint32_t id : std::exchange(ready_, {})) {
    const auto found = clients_.find(id);
    if (found == clients_.end()) {
      mux_.Close(id);
      continue;
    }
    Virtual& client = *found->second;
    client.is_ready = false;
    const bool has_more = client.client.Serve();
    if (!CloseIfFinished(client) && (has_more || client.HasUnread())) Touch(id);
  }
  is_serving_ = false;
  Count();
  return !ready_.empty();
}

bool Session::CloseIfFinished(Virtual& client) {
  if (!client.client.is_finished()) return false;
  if (const std::string& reason = client.client.reason(); !reason.empty()) {
    context_.counted->Note(Severity::kWarning, "PyTorch's store: connection closed",
                           absl::StrCat("a process's connection over an agent's link was closed: ", reason));
  }
  mux_.Close(client.id);
  clients_.erase(client.id);
  return true;
}

bool Session::CheckTimes() {
  for (const auto& [id, client] : clients_) {
    client->client.CheckTimes();
    if (client->client.is_finished() || client->client.is_held()) Touch(id);
  }
  mux_.stream().Acknowledge();
  return !ready_.empty() || mux_.stream().has_more();
}

size_t Session::input_bytes() const {
  size_t bytes = mux_.buffered();
  for (const auto& [id, client] : clients_) bytes += client->client.input_bytes();
  return bytes;
}

void Session::Count() {
  context_.input_bytes += mux_.buffered() - counted_;
  counted_ = mux_.buffered();
  const size_t kept = mux_.stream().kept();
  shared_.output_bytes += kept - counted_kept_;
  counted_kept_ = kept;
}

absl::StatusOr<std::shared_ptr<Session>> Links::Attach(const LinkHello& hello, const TcpClient& client,
                                                       TcpServerContext& context) {
  if (const std::string why = options_.why_not(hello, client); !why.empty()) return absl::PermissionDeniedError(why);
  const auto found = sessions_.find(hello.node);
  const bool is_same = found != sessions_.end() && found->second->secret() == hello.session;
  if (!is_same) {
    if (!hello.is_new) return std::shared_ptr<Session>();
    if (found != sessions_.end() && found->second->link != 0) {
      return absl::AlreadyExistsError(absl::StrCat("the agent of ", hello.node, " has another link already"));
    }
    std::shared_ptr<Session>& session = sessions_[hello.node];
    session = nullptr;  // ends the old session's clients first
    const size_t places = options_.places_of ? options_.places_of(hello.node) : SIZE_MAX;
    session = std::make_shared<Session>(hello.session, places, options_, shared_, context);
  }
  std::shared_ptr<Session> session = sessions_.at(hello.node);
  if (absl::Status status = session->stream().Resume(hello.received); !status.ok()) {
    End(*session);
    return status;
  }
  if (session->link != 0) context.touch(session->link);  // the session has a newer connection now
  session->link = client.connection;
  return session;
}

void Links::End(const Session& session) {
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.get() == &session; });
}

void Links::FreeInput(TcpServerContext& context) {
  const auto held = [](const auto& entry) { return entry.second->link == 0 ? entry.second->input_bytes() : 0; };
  while (context.input_bytes > shared_.limits.input_bytes) {
    const auto largest = std::max_element(sessions_.begin(), sessions_.end(),
                                          [&](const auto& a, const auto& b) { return held(a) < held(b); });
    if (largest == sessions_.end() || held(*largest) == 0) return;
    context.counted->Note(Severity::kWarning, "PyTorch's store: an agent that is away was given up",
                          absl::StrCat("the agent of ", largest->first,
                                       " is away, and incomplete requests of its processes take room that others need; "
                                       "its processes count as disconnected"));
    sessions_.erase(largest);
  }
}

void Links::FreeKept(TcpServerContext& context) {
  const auto held = [](const auto& entry) { return entry.second->link == 0 ? entry.second->kept_bytes() : 0; };
  while (!shared_.has_room_for_answers()) {
    const auto largest = std::max_element(sessions_.begin(), sessions_.end(),
                                          [&](const auto& a, const auto& b) { return held(a) < held(b); });
    if (largest == sessions_.end() || held(*largest) == 0) return;
    context.counted->Note(Severity::kWarning, "PyTorch's store: an agent that is away was given up",
                          absl::StrCat("the agent of ", largest->first,
                                       " is away, and answers to its processes take room that others need; its "
                                       "processes count as disconnected"));
    sessions_.erase(largest);
  }
}

void Links::CheckTimes(TcpServerContext& context) {
  FreeKept(context);
  std::erase_if(sessions_, [&](const auto& entry) {
    const Session& session = *entry.second;
    const bool is_over = session.link == 0 && context.now - session.cut_at > options_.patience;
    if (is_over)
      Log(Severity::kWarning, absl::StrCat("PyTorch's store: the agent of ", entry.first,
                                           " has not come back; its processes count as disconnected"));
    return is_over;
  });
}

namespace {

constexpr absl::Duration kHelloTimeout = absl::Seconds(10);

// Ends a connection without a reason, for which nothing is logged.
absl::Status Ended() { return absl::CancelledError(""); }

}  // namespace

LinkEnd::~LinkEnd() {
  const std::shared_ptr<Session> own = session();
  if (own == nullptr) return;
  own->link = 0;
  own->cut_at = context_.now;
}

std::shared_ptr<Session> LinkEnd::session() const {
  std::shared_ptr<Session> own = session_.lock();
  // A newer connection may have taken the session over.
  return own != nullptr && own->link == client_.connection ? own : nullptr;
}

void LinkEnd::EndSession() {
  if (const std::shared_ptr<Session> own = session(); own != nullptr) links_.End(*own);
}

size_t LinkEnd::input_bytes() const {
  const std::shared_ptr<Session> own = session();
  return own != nullptr ? own->input_bytes() : 0;
}

absl::StatusOr<bool> LinkEnd::Serve() {
  if (has_session_ && session() == nullptr) return Ended();
  if (absl::Status status = Read(); !status.ok()) return status;
  const std::shared_ptr<Session> own = session();
  const bool has_more = own != nullptr && own->ServeClients();
  if (!Flush()) return Ended();
  return has_more;
}

absl::Status LinkEnd::Read() {
  std::vector<char>& bytes = links_.scratch();
  size_t done = 0;
  switch (stream_.Read(bytes.data(), bytes.size(), &done)) {
    case Stream::Io::kAgain:
      return absl::OkStatus();
    case Stream::Io::kClosed:
    case Stream::Io::kFailed:
      return Ended();
    case Stream::Io::kDone:
      break;
  }
  return Take({bytes.data(), done});
}

absl::Status LinkEnd::Take(std::string_view bytes) {
  if (is_refused_) return absl::OkStatus();
  std::string said;
  if (!has_session_) {
    hello_.append(bytes);
    std::string_view rest = hello_;
    if (absl::Status status = Greet(rest); !status.ok()) return status;
    if (!has_session_) return absl::OkStatus();
    said = rest;  // a copy: `rest` is part of hello_, which is freed here
    bytes = said;
    std::string().swap(hello_);
  }
  return session()->Receive(bytes);
}

absl::Status LinkEnd::Greet(std::string_view& bytes) {
  absl::StatusOr<std::optional<LinkHello>> hello = TakeHello(bytes);
  if (!hello.ok()) return hello.status();
  if (!hello->has_value()) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<Session>> session = links_.Attach(**hello, client_, context_);
  if (!session.ok()) {
    if ((*hello)->version < kLinkVersion) return session.status();
    // (Bytes that the socket does not take at once are not worth waiting for.)
    pipe_.Say(AnswerBytes({.refusal = std::string(session.status().message())}));
    pipe_.Write(stream_, nullptr);
    return session.status();
  }
  if (*session == nullptr) {
    is_refused_ = true;
    pipe_.Say(AnswerBytes({}));
    return absl::OkStatus();
  }
  SetDeadPeerDetection(stream_.fd());
  session_ = *session;
  has_session_ = true;
  pipe_.Say(AnswerBytes({true, (*session)->stream().received()}));
  return absl::OkStatus();
}

bool LinkEnd::Flush() {
  const std::shared_ptr<Session> own = session();
  const Stream::Io io = pipe_.Write(stream_, own != nullptr ? &own->stream() : nullptr);
  return io == Stream::Io::kDone || io == Stream::Io::kAgain;
}

bool LinkEnd::wants_write() const {
  const std::shared_ptr<Session> own = session();
  return !pipe_.is_empty() || (own != nullptr && own->stream().has_more());
}

std::string LinkEnd::CheckTimes() {
  if (!has_session_) {
    return context_.now - begun_at_ > kHelloTimeout ? "an agent's link did not send a complete first message in time"
                                                    : "";
  }
  const std::shared_ptr<Session> own = session();
  if (own == nullptr || own->CheckTimes()) context_.touch(client_.connection);
  return "";
}

}  // namespace muster::torch_store
