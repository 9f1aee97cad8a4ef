// The settings of muster_load.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/settings/settings.h"
#include "common/tls/tls_settings.h"

namespace muster::bench {

struct LoadSettings {
  std::string measure = "form";
  std::string target = "127.0.0.1:8118";
  std::string subject = "muster";
  std::string job_id = "load";
  uint32_t agents = 1'000;
  uint32_t slots = 8;
  bool progress = false;    // heartbeats carry the progress of each slot
  uint32_t threads = 2;     // completion queues, each with a thread
  uint32_t server_pid = 0;  // 0: the server's process is not known
  bool neighbours = false;  // peer_list: the size of an agent's own assignment instead
  std::string restart;      // reconnect: the shell command that starts the server again, after server_pid was killed
  absl::Duration window = absl::Seconds(10);
  absl::Duration interval = absl::ZeroDuration();  // zero: the server's interval
  absl::Duration limit = absl::Seconds(300);       // for all agents to be in
  absl::Duration patience = absl::Minutes(2);      // of one dial, from its beginning to its welcome
  TlsSettings tls;
};

SettingsTable LoadSettingsTable(LoadSettings& settings);

}  // namespace muster::bench
