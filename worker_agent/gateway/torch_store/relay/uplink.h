// The relay's state: its session with the store, its clients, and the link of this moment. Of the relay's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/relay/mux.h"
#include "worker_agent/gateway/torch_store/relay/pipe.h"
#include "worker_agent/gateway/torch_store/relay/relay.h"

namespace muster::torch_store {

class LocalClient;

class Uplink {
 public:
  explicit Uplink(RelayOptions options) : options_(std::move(options)) {}

  void Begin(TcpServerContext& context);
  // Nothing is touched any more.
  void End() { has_ended_ = true; }
  const RelayOptions& options() const { return options_; }
  TcpServerContext& context() { return *context_; }
  // For one read.
  std::vector<char>& scratch() { return scratch_; }
  Mux& mux() { return *mux_; }
  // What one client may read at once: where the link is short of room, all get some.
  size_t Share() const;

  uint32_t Enter(LocalClient& client);
  void Leave(uint32_t id);
  // Something is to be sent.
  void TouchLink();

  LinkHello Hello() const;
  // The store hung up on the hello: it may be one of the version before.
  void TryOtherVersion() { hello_.version = hello_.version == kLinkVersion ? kFirstLinkVersion : kLinkVersion; }
  // The store goes on with the session. An error: it is not to be trusted.
  absl::Status GoOn(uint64_t received_there);
  // The session is over: its clients are disconnected, and the next link begins another one.
  void Lose(const std::string& reason);

  // When it is time for it, and there is none.
  void DialIfDue();
  // `is_refusal`: the store's agent has said so.
  void LinkEnded(const std::string& reason, bool is_refusal);

 private:
  void NewSession();

  const RelayOptions options_;
  TcpServerContext* context_ = nullptr;  // since Begin
  std::vector<char> scratch_ = std::vector<char>(64 * 1024);
  LinkHello hello_;
  std::unique_ptr<Mux> mux_;
  std::unordered_map<uint32_t, LocalClient*> clients_;

  uint64_t link_ = 0;  // its connection; 0: none
  bool is_up_ = false;
  bool has_ended_ = false;
  MonotonicTime down_since_;
  MonotonicTime dial_at_;
  absl::Duration back_off_;
};

// A process of this machine. The store hears of it with its first byte, so who only connects and closes again, while
// the link is cut, leaves nothing behind.
class LocalClient final : public TcpConnection {
 public:
  LocalClient(Stream stream, const TcpClient& client, Uplink& uplink, TcpServerContext& context)
      : TcpConnection(std::move(stream), client, context), uplink_(uplink) {}
  ~LocalClient() override;

  bool Serve() override;
  bool wants_read() const override { return !has_ended_ && !is_finished_ && Room() > 0; }
  bool wants_write() const override { return id_ != 0 && !uplink_.mux().Peek(id_).empty(); }
  bool is_held() const override { return id_ == 0 && !has_ended_ && !is_finished_ && Room() == 0; }
  bool has_work() const override { return has_spoken_; }
  bool has_spoken() const override { return has_spoken_; }
  size_t input_bytes() const override { return 0; }

  // The session is over.
  void Lose(const std::string& reason);
  void Touch() { context_.touch(client_.connection); }

 private:
  size_t Room() const { return id_ != 0 ? uplink_.mux().Room(id_) : uplink_.mux().RoomOfNext(); }
  void Read();
  void Write();

  Uplink& uplink_;
  uint32_t id_ = 0;  // 0: it has said nothing, or its session is over
  bool has_spoken_ = false;
};

// The connection to the store's agent.
class StoreLink final : public TcpConnection {
 public:
  StoreLink(Stream stream, const TcpClient& client, Uplink& uplink, TcpServerContext& context)
      : TcpConnection(std::move(stream), client, context), uplink_(uplink), begun_at_(context.now) {}
  ~StoreLink() override { uplink_.LinkEnded(why_.empty() ? reason() : why_, is_refused_); }

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override { return !is_finished_; }
  bool wants_write() const override;
  bool is_delayed() const override { return is_held_back_; }
  bool has_work() const override { return true; }
  bool has_spoken() const override { return true; }
  size_t input_bytes() const override { return 0; }

 protected:
  void HasOpened() override;

 private:
  // The server's log says nothing of it: it is made anew, and Uplink tells if that does not help.
  void Break(const std::string& why);
  void Read();
  absl::Status Take(std::string_view bytes);
  void Write();

  Uplink& uplink_;
  const MonotonicTime begun_at_;
  bool has_greeted_ = false;
  bool has_answer_ = false;
  bool is_refused_ = false;
  std::string answer_;
  // While the store has said nothing since this side wrote last, what comes meanwhile is sent together, within a
  // millisecond: each packet costs the store more than the requests in it.
  bool awaits_ = false;
  bool is_held_back_ = false;
  MonotonicTime written_at_;
  std::string why_;
  LinkPipe pipe_;
};

}  // namespace muster::torch_store
