// One connection to the store: a client's own, or the link of an agent, which stands for many (relay/link_end.h). Its
// first byte tells, and TLS, which only agents speak.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/channel.h"
#include "worker_agent/gateway/torch_store/client.h"
#include "worker_agent/gateway/torch_store/relay/link_end.h"

namespace muster::torch_store {

class Connection final : public TcpConnection, private Channel {
 public:
  // `links` null: none are served.
  Connection(Stream stream, const TcpClient& client, Shared& shared, Links* links, TcpServerContext& context);

  ~Connection() override;

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override;
  bool wants_write() const override;
  bool is_held() const override { return speaker_ && speaker_->is_held(); }
  size_t input_bytes() const override;
  bool has_spoken() const override;
  // A client says nothing for hours, and is lost without its connection.
  bool has_work() const override { return has_spoken(); }
  void FlushAtEnd() override;

 private:
  Stream::Io Read(char* out, size_t most, size_t* done) override { return stream_.Read(out, most, done); }
  Stream::Io Write(std::string_view bytes, size_t* done) override { return stream_.Write(bytes, done); }
  void Touch() override { context_.touch(client_.connection); }
  // False: not known yet, or it is turned away.
  bool Recognise();

  Shared& shared_;
  Links* const links_;
  std::optional<Client> speaker_;  // either that, …
  std::unique_ptr<LinkEnd> link_;  // … or that
};

}  // namespace muster::torch_store
