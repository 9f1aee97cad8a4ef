// How a client's connections to the scheduler are secured.
#pragma once

#include <memory>

#include "common/tls/tls_store.h"

namespace muster {

struct Security {
  std::shared_ptr<const TlsStore> tls;  // null: plain text
  bool requires_tls = false;            // plain text to this machine only: see CheckPlaintext
};

}  // namespace muster
