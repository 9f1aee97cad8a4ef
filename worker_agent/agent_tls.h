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
  // Returns null without TLS. Faults that the peers would refuse are found here, before anything is dialed: the error
  // names the setting. Fills in the node id that the certificate names. See OpenClientTls for when to call it;
  // `counted` must outlive this.
  static absl::StatusOr<std::unique_ptr<AgentTls>> Open(AgentSettings& settings, const PasswordSource& password,
                                                        CountedLog& counted);

  ~AgentTls() { Stop(); }
  AgentTls(const AgentTls&) = delete;
  AgentTls& operator=(const AgentTls&) = delete;

  std::shared_ptr<const TlsStore> store() const { return store_; }

  // `on_change` is called by a thread of its own after each change of the files. RESOURCE_EXHAUSTED: no thread can be
  // started.
  absl::Status Start(std::function<void(bool has_new_certificate)> on_change);
  void Stop() { store_->Stop(); }

  // Returns the secrets for a child process that speaks as this agent: with the certificate of that fingerprint, as
  // long as it is one of the last ones, else with the present one. Any thread.
  HandOver Pack(const std::string& fingerprint = "") const;

 private:
  explicit AgentTls(std::shared_ptr<TlsStore> store);

  const std::shared_ptr<TlsStore> store_;
  mutable Mutex mutex_;
  // The newest last. A round's peers expect the certificate that was shown when the round began.
  std::deque<std::shared_ptr<const KeyMaterial>> shown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
