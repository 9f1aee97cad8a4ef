// The agent's side of TLS: its certificate and the CAs that it trusts.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/sys/log.h"
#include "common/tls/tls_store.h"
#include "worker_agent/keeper/processes.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

class AgentTls {
 public:
  // Returns null if the settings turn TLS off. Checks the certificate here, before the scheduler or a peer refuses the
  // connection; the error names the setting to correct. If the certificate names a node and MS_NODE_ID is not set, sets
  // settings.node_id. See OpenClientTls for when to call it; `counted` must outlive the returned object.
  static absl::StatusOr<std::unique_ptr<AgentTls>> Open(AgentSettings& settings, const PasswordSource& password,
                                                        CountedLog& counted);

  ~AgentTls() { Stop(); }
  AgentTls(const AgentTls&) = delete;
  AgentTls& operator=(const AgentTls&) = delete;

  std::shared_ptr<const TlsStore> store() const { return store_; }

  // Starts a thread that watches the files of certificates, keys and revocation lists, and calls `on_change` after each
  // change. RESOURCE_EXHAUSTED: no thread can be started.
  absl::Status Start(std::function<void(bool has_new_certificate)> on_change);
  void Stop() { store_->Stop(); }

  // Packs key, certificate and CAs for a child process that connects in this agent's name (ms-ring, the last report).
  // Uses the certificate with `fingerprint` if it is among the last 8 that this agent has used, else the current
  // one. After a failure, which is logged, the result has an empty `variable`. Any thread may call it.
  HandOver Pack(const std::string& fingerprint = "") const;

 private:
  explicit AgentTls(std::shared_ptr<TlsStore> store);

  const std::shared_ptr<TlsStore> store_;
  mutable Mutex mutex_;
  // The last certificates of this agent, the newest at the end. Old ones are kept because a round's peers expect the
  // certificate that this agent had when the round began.
  std::deque<std::shared_ptr<const KeyMaterial>> shown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
