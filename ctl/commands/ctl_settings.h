// The settings of ms-ctl, and their table.
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
  std::string job_id;                    // --job, MS_JOB_ID; empty: all jobs, or the only one
  bool is_job_on_line = false;           // job_id comes from the command line, and not from MS_JOB_ID
  uint32_t run = 0;                      // 0: the latest
  std::string admin_socket;              // empty: see common/sys/runtime_paths.h
  bool names_scheduler = false;          // the user has named the scheduler by host, port or socket
  bool is_socket_found = false;          // FindScheduler has set admin_socket
  absl::Duration timeout = absl::Seconds(5);
  std::string reason;  // for commands that change a job; all its users see it
  bool yes = false;    // stop: don't ask for confirmation
  bool now = false;    // drain: end the round now
  bool json = false;
  bool missing = false;     // nodes: list only nodes that the job waits for
  bool follow = false;      // logs: go on until the run ends
  bool plain = false;       // watch: print lines, even on a terminal
  uint32_t lines = 0;       // logs, top: the number of lines; 0: the default
  std::string since;        // events: list only later ones; empty: all
  std::string output_file;  // report: the file to write; empty: muster-JOB-RUN.html
  // ranktable
  std::string check_file;               // --check; empty: not given
  uint32_t for_nodes = 0;               // --for; 0: not given
  std::string hosts;                    // --hosts: addresses, separated by commas
  std::vector<std::string> device_ips;  // --device_ips: one text for each host
  std::string form = "openmpi";         // hostfile: see common/show/hostfile.h
  TlsSettings tls;
};

SettingsTable CtlSettingsTable(CtlSettings& settings);

}  // namespace muster::ctl
