// One request and its answer, after which the connection is closed, as Horovod's own server does it.
#pragma once

#include <cstddef>
#include <string>

#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/horovod/rendezvous.h"
#include "worker_agent/gateway/horovod/request.h"

namespace muster::horovod {

class Connection final : public TcpConnection {
 public:
  Connection(Stream stream, const TcpClient& client, Rendezvous& rendezvous, TcpServerContext& context)
      : TcpConnection(std::move(stream), client, context), rendezvous_(rendezvous), since_(context.now) {}
  ~Connection() override { context_.input_bytes -= counted_; }

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override;
  bool wants_write() const override { return step_ == Step::kAnswering; }
  bool has_work() const override { return step_ == Step::kWaiting || step_ == Step::kAnswering; }
  bool has_spoken() const override { return step_ != Step::kReading; }
  size_t input_bytes() const override { return reader_.buffered(); }

 private:
  enum class Step { kReading, kWaiting, kAnswering, kClosing };

  void Read();
  void Say(const Answer& answer);
  void Write();
  void Go(Step step);

  Rendezvous& rendezvous_;
  RequestReader reader_;
  Step step_ = Step::kReading;
  MonotonicTime since_;  // of this step; while answering, since something was taken
  size_t counted_ = 0;   // in context_.input_bytes
  size_t discarded_ = 0;
  std::string output_;
  size_t written_ = 0;
};

}  // namespace muster::horovod
