// The protocol that a TcpServer's ports speak. The server's one thread makes every call. No call may block.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "common/tcp_server/connection.h"

namespace muster {

class TcpProtocol {
 public:
  // `name` is for people: "MindSpore".
  struct Words {
    std::string name;
    std::string thread;       // name of the server's thread, at most 15 letters
    std::string without_tls;  // the remedy if a client speaks TLS, but the server has no TLS: "set it, or …"
    std::string with_tls;     // the remedy if a client does not speak TLS, but must
  };

  virtual ~TcpProtocol() = default;

  virtual const Words& words() const = 0;
  // Makes the connection for a new client. `own_address` is the local end, host:port. `context` outlives the
  // connection.
  virtual std::unique_ptr<TcpConnection> Accept(Stream stream, const TcpClient& client, const std::string& own_address,
                                                TcpServerContext& context) = 0;
  virtual void Closed(const TcpClient& client) = 0;
  // Begin is the first call and End the last one. Connections and `context` exist until End has returned.
  virtual void Begin(TcpServerContext& /*context*/) {}
  virtual void End() {}
  // Makes the connection for TcpServerContext::dial. Its socket may still be connecting: the first write goes out once
  // it is connected.
  virtual std::unique_ptr<TcpConnection> Dialed(Stream /*stream*/, const TcpClient& /*client*/,
                                                TcpServerContext& /*context*/) {
    return nullptr;
  }
  // Makes the connection for TcpServerContext::adopt.
  virtual std::unique_ptr<TcpConnection> Adopted(Stream /*stream*/, const TcpClient& /*client*/,
                                                 TcpServerContext& /*context*/) {
    return nullptr;
  }
  // Returns the limit for the sum of TcpConnection::input_bytes. Beyond it, the connection with the largest part is
  // cut.
  virtual size_t MaxInputBytes() const = 0;
  // Called when the sum exceeds the limit, before a connection is cut. Frees counted input that belongs to no
  // connection.
  virtual void FreeInput() {}
  // Returns the connections that must not be closed to make room for new ones.
  virtual std::set<uint64_t> Needed() { return {}; }
  // Called at least four times a second. If HasTimers is false, it is called less often while no client is connected.
  virtual void Tick() {}
  virtual bool HasTimers() const { return false; }
};

}  // namespace muster
