// How an agent's connections are secured.
#pragma once

#include <memory>

#include "common/tls/tls_store.h"

namespace muster::agent {

struct Security {
  std::shared_ptr<const TlsStore> tls;  // null: plain text
  bool requires_tls = false;            // plain text to this machine only
};

}  // namespace muster::agent
