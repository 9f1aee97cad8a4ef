// The connections of an ExecServer, and the state that they share. Only the server's thread may use them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/tcp_server/connection.h"
#include "common/tcp_server/protocol.h"
#include "worker_agent/gateway/exec/command_reports.h"
#include "worker_agent/gateway/exec/request.h"
#include "worker_agent/gateway/exec/round.h"

namespace muster::exec {

class ExecConnection;

class ExecProtocol final : public TcpProtocol {
 public:
  static constexpr uint32_t kForAgents = 0;  // indices of the two listeners
  static constexpr uint32_t kForOwn = 1;

  // `clock` must outlive this.
  ExecProtocol(bool needs_tls, const Clock& clock) : needs_tls_(needs_tls), clock_(clock) {}

  const Words& words() const override;
  std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& own_address,
                                        TcpServerContext& context) override;
  std::unique_ptr<TcpConnection> Dialed(Stream stream, const TcpClient& client, TcpServerContext& context) override;
  std::unique_ptr<TcpConnection> Adopted(Stream stream, const TcpClient& client, TcpServerContext& context) override;
  void Closed(const TcpClient& /*client*/) override {}
  size_t MaxInputBytes() const override { return size_t{8} << 20; }  // of incomplete requests
  void End() override { has_ended_ = true; }
  void Tick() override;

  void BeginRound(Round round);
  void EndRound();
  void SetHolder(UniqueFd control) { holder_ = std::move(control); }
  void EndHolder();
  // Sends the socket to the holder. Returns false if there is no holder, or it does not take the socket.
  bool GiveToHolder(const UniqueFd& socket);

  // Sets the receiver of reports on remote commands. Before this call, none is reported.
  void ReportTo(CommandSink sink) { sink_ = std::move(sink); }
  void Report(v1::RemoteCommands command);

  const Round* round() const { return round_ ? &*round_ : nullptr; }
  bool needs_tls() const { return needs_tls_; }
  bool has_ended() const { return has_ended_; }
  // Returns why the address belongs to no machine of the round; empty: it belongs to one, or there is no round.
  std::string WhyNotAddress(const IpAddress& address) const;

  void Enter(ExecConnection& connection);
  void Leave(const ExecConnection& connection);
  ExecConnection* Find(uint64_t id);
  size_t CountAsked() const;
  size_t CountServed() const;

 private:
  void Deliver(std::vector<v1::RemoteCommands> reported);

  const bool needs_tls_;
  const Clock& clock_;
  CommandSink sink_;
  CommandReports reports_;
  std::optional<Round> round_;
  UniqueFd holder_;
  std::map<uint64_t, ExecConnection*> connections_;
  bool has_ended_ = false;
};

// One connection. Two of them together carry a command:
//
//   on the launcher's node  kOwn    from a launch agent of this node   kAsked   to the other node's agent
//   on the command's node   kAsker  from the launcher's node's agent   kHolder  to the process beside the command
class ExecConnection final : public TcpConnection {
 public:
  enum class Part { kOwn, kAsker, kAsked, kHolder };

  ExecConnection(Part part, Stream stream, const TcpClient& client, ExecProtocol& protocol, TcpServerContext& context);
  ~ExecConnection() override;

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override;
  bool wants_write() const override;
  // To make room for new clients, the server closes connections without work, but never one that it dialled itself.
  bool has_work() const override { return phase_ != Phase::kAsking || part_ == Part::kAsked; }
  bool has_spoken() const override { return has_work(); }
  size_t input_bytes() const override { return in_.size(); }

  Part part() const { return part_; }
  bool is_paired() const { return phase_ == Phase::kPaired || phase_ == Phase::kWaiting; }
  void End() { Finish(""), context_.touch(client_.connection); }
  // For kOwn: dials the other node's agent if it is time.
  void DialIfDue();

 protected:
  void HasOpened() override;

 private:
  enum class Phase {
    kAsking,   // its request, or its answer, is incomplete
    kWaiting,  // kOwn: until the other node's agent has answered
    kPaired,
    kClosing  // sends what is left to write
  };

  size_t Room() const;
  bool Read();
  void Take(std::string_view bytes);
  void TakeRequest();
  void TakeAnswer();
  void AskedByOwn(const Request& request);
  void AskedByAgent(const Request& request);
  void HandOn(const Request& request, UniqueFd socket);
  // Reports the refusal to the scheduler, if it is a matter of permission (not NOT_REFUSED). Logs it in any case.
  void Refuse(const std::string& who, const std::string& why,
              v1::RemoteCommands::Refusal refusal = v1::RemoteCommands::NOT_REFUSED);
  void Reply(const Answer& answer);
  void Write();
  void Break(const std::string& why);
  void PairedClosed(Part part, const std::string& why);
  void SetInput(std::string in);

  const Part part_;
  ExecProtocol& protocol_;
  Phase phase_;
  MonotonicTime phase_since_;
  uint64_t paired_ = 0;  // the paired connection; 0: none
  std::string in_;       // of an incomplete request or answer
  std::string out_;
  std::string why_;  // why it broke; of kOwn: why the last kAsked broke
  // kOwn, while it waits
  Request request_;
  std::string host_;  // as the launcher calls it
  size_t target_ = 0;
  size_t tries_ = 0;
  MonotonicTime dial_at_;
};

}  // namespace muster::exec
