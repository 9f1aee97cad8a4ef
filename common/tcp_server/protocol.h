// What is spoken at a TcpServer's ports. Every call comes from the server's one thread and must not block.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "common/tcp_server/connection.h"

namespace muster {

class TcpProtocol {
 public:
  // For people: "MindSpore".
  struct Words {
    std::string name;
    std::string thread;       // of the server's thread, at most 15 letters
    std::string without_tls;  // what to do where a client speaks TLS and none is configured: "set it, or …"
    std::string with_tls;     // what to do where it does not, and must
  };

  virtual ~TcpProtocol() = default;

  virtual const Words& words() const = 0;
  // `own_address`: the local end, host:port. `context` outlives the connection.
  virtual std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& own_address,
                                                TcpServerContext& context) = 0;
  virtual void Closed(const TcpClient& client) = 0;
  // The first call and the last one: connections and `context` are there until after End.
  virtual void Begin(TcpServerContext& /*context*/) {}
  virtual void End() {}
  // The connection that TcpServerContext::dial makes. It is under way: the first write goes out when it is there.
  virtual std::unique_ptr<TcpConnection> Dialed(Stream /*stream*/, const TcpClient& /*client*/,
                                                TcpServerContext& /*context*/) {
    return nullptr;
  }
  // The connection that TcpServerContext::adopt makes.
  virtual std::unique_ptr<TcpConnection> Adopted(Stream /*stream*/, const TcpClient& /*client*/,
                                                 TcpServerContext& /*context*/) {
    return nullptr;
  }
  // Beyond this sum of TcpConnection::input_bytes the connection that holds most of it is cut.
  virtual size_t MaxInputBytes() const = 0;
  // Gives up, beyond that sum and before a connection is cut, what is counted in it and belongs to no connection.
  virtual void FreeInput() {}
  // The connections that are not closed to make room for new ones.
  virtual std::set<uint64_t> Needed() { return {}; }
  // At least four times a second; where nothing waits for the time (HasTimers), less often while nobody is connected.
  virtual void Tick() {}
  virtual bool HasTimers() const { return false; }
};

}  // namespace muster
