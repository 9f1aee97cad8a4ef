#include "ctl/commands/ping/checks.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "common/base/text.h"

namespace muster::ctl {

std::string Checks::AsText() const {
  std::string out;
  for (const Check& check : checks_) {
    absl::StrAppendFormat(&out, "%-8s %-8s %s\n", check.name, check.level, EscapeControl(check.text));
    if (!check.remedy.empty()) absl::StrAppendFormat(&out, "%18s%s\n", "", check.remedy);
  }
  return out;
}

std::string Checks::AsJson(const std::string& scheduler) const {
  auto checks = nlohmann::ordered_json::array();
  for (const Check& check : checks_) {
    checks.push_back(
        {{"check", check.name},
         {"level", check.level},
         {"text", check.text},
         {"remedy", check.remedy.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(check.remedy)}});
  }
  const nlohmann::ordered_json all{{"scheduler", scheduler}, {"checks", checks}};
  return EscapeJson(all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

}  // namespace muster::ctl
