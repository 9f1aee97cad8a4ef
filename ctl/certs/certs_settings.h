// The settings of `ms-ctl certs`. They have a table of their own, because variables such as MS_JOB_ID don't apply here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings/settings.h"

namespace muster::certs {

struct CertsSettings {
  std::string dir;
  std::string trust_domain = "muster";
  std::vector<std::string> hosts;
  std::string id;
  std::string job = "*";
  std::string name;
  std::optional<uint32_t> days;
  uint32_t list_days = 400;
  std::string reason;
  std::string password_file;
  bool json = false;
};

SettingsTable CertsSettingsTable(CertsSettings& settings);

}  // namespace muster::certs
