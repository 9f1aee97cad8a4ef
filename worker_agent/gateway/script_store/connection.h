// One connection of a script: it asks, and asks again once it has the answer.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/script_store/operations.h"

namespace muster::script_store {

class Connection;

// What the connections of a round share; of the server's thread.
struct Round {
  Operations* operations = nullptr;
  std::set<Connection*> connections;
  std::optional<std::string> end;  // the answer to everything, once the round is over
};

class Connection final : public TcpConnection {
 public:
  Connection(Stream stream, const TcpClient& client, Round& round, TcpServerContext& context);
  ~Connection() override;

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override { return !has_ended_ && !is_finished_ && input_.size() <= kMaxLineBytes; }
  bool wants_write() const override { return !output_.empty(); }
  bool has_work() const override { return is_waiting_ || wants_write(); }
  bool has_spoken() const override { return has_spoken_; }
  // (Answers count as well: who asks for much and reads nothing is cut, like who sends much.)
  size_t input_bytes() const override { return input_.size() + output_.size(); }

  // The round is over: what waits is answered so.
  void TellEnd();

 private:
  void Read();
  bool HasLine() const;  // that may be answered now
  void TakeLine();
  void Say(std::string line);
  void Write();
  void Count();

  Round& round_;
  std::string input_;
  size_t counted_ = 0;  // in context_.input_bytes
  MonotonicTime line_begun_at_;
  uint64_t number_ = 0;      // of the last request
  bool is_waiting_ = false;  // for its answer
  bool has_spoken_ = false;
  std::string output_;
  size_t written_ = 0;
  MonotonicTime moved_at_;  // when something of the output was taken
};

}  // namespace muster::script_store
