// Who makes a call, as gRPC knows it.
#pragma once

#include <grpcpp/server_context.h>

#include "scheduler/ingress/peer_facts.h"

namespace muster::scheduler {

// `takes_names`: the certificate's name is the identity (not with --tls_identity=ca-only).
PeerFacts PeerOf(const grpc::ServerContextBase& context, bool takes_names);

}  // namespace muster::scheduler
