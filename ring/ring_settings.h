// The settings of ms-ring, and their table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/settings/settings.h"
#include "common/tls/tls_settings.h"

namespace muster::ring {

struct RingSettings {
  std::string cluster_file;      // MS_CLUSTER_FILE
  std::optional<uint32_t> rank;  // RANK
  uint32_t bytes = 4 << 20;
  absl::Duration connect_timeout = absl::Seconds(30);
  absl::Duration step_timeout = absl::Seconds(10);
  absl::Duration timeout = absl::Seconds(60);
  uint32_t slow_factor = 5;
  bool json = false;
  TlsSettings tls;
};

SettingsTable RingSettingsTable(RingSettings& settings);

}  // namespace muster::ring
