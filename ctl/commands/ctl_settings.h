// The settled settings of ms-ctl.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/settings/settings.h"
#include "common/tls/tls_settings.h"

namespace muster::ctl {

struct CtlSettings {
  std::string sched_host = "127.0.0.1";  // MS_SCHED_HOST
  uint16_t sched_port = 8118;            // MS_SCHED_PORT
  std::string job_id;                    // --job, MS_JOB_ID; empty: all, or the only one
  bool is_job_on_line = false;           // given by --job or after the command, that is, not by MS_JOB_ID
  uint32_t run = 0;                      // 0: the latest
  std::string admin_socket;              // empty: see common/sys/runtime_paths.h
  absl::Duration timeout = absl::Seconds(5);
  std::string reason;  // of a changing call; others see it
  bool yes = false;    // stop: don't ask
  bool now = false;    // drain: the round ends now
  bool json = false;
  bool missing = false;     // nodes: only those that the job waits for
  bool follow = false;      // logs
  bool plain = false;       // watch: lines, also on a terminal
  uint32_t lines = 0;       // logs, top; 0: the default
  std::string since;        // events; empty: all
  std::string output_file;  // report; empty: a name made for it
  // ranktable
  std::string check_file;               // --check; empty: not given
  uint32_t for_nodes = 0;               // --for; 0: not given
  std::string hosts;                    // addresses separated by commas
  std::vector<std::string> device_ips;  // one text for each host
  std::string form = "openmpi";         // hostfile: see common/show/hostfile.h
  TlsSettings tls;
};

SettingsTable CtlSettingsTable(CtlSettings& settings);

}  // namespace muster::ctl
