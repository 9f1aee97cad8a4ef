// The peer of a connection, as far as the transport knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/tls/material/certificate.h"
#include "common/tls/peer/peer_name.h"
#include "common/tls/server/server_context.h"

namespace muster::scheduler {

struct PeerFacts {
  uint64_t connection = 0;  // its number; 0: none
  std::string address;      // numeric; empty for the Unix socket
  uint16_t port = 0;
  std::string reached_at;  // numeric: our address that the connection came to; empty: not known
  bool is_unix = false;    // came over the admin socket: the scheduler's own user, or root
  // Facts from the certificate; empty without TLS.
  std::string identity;                   // its URI name; empty also if names don't count (--tls_identity=ca-only)
  std::string fingerprint;                // SHA-256 of its DER form, lower-case hexadecimal
  std::optional<PeerName> name;           // the parsed identity
  std::vector<Certificate> certificates;  // its own first, then those it showed, then its issuers if known
  bool knows_issuers = false;             // `certificates` has all issuers

  // Returns "10.0.0.1:4711" or "the admin socket".
  std::string ToString() const;
};

// Parses "10.0.0.1:4711" or "[::1]:4711", and takes the handshake's result, if there was one. An unreadable peer has no
// address. `takes_names`: the certificate's name is the identity (not with --tls_identity=ca-only).
PeerFacts FactsOf(const std::string& peer, const CheckedClient* client, bool takes_names);

}  // namespace muster::scheduler
