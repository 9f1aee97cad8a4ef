#include "common/settings/given_values.h"

#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/sha256.h"
#include "common/settings/settings.h"

namespace muster {
namespace {

constexpr size_t kDigestBytes = 6;            // enough to notice a changed value; no protection from attackers
constexpr size_t kMaxGivenBytes = 64 * 1024;  // room for several hundred variables

std::string DigestOf(const std::string& name, const std::string& value) {
  return absl::BytesToHexString(Sha256(absl::StrCat(name, "=", value)).substr(0, kDigestBytes));
}

}  // namespace

std::string GivenValues(const std::map<std::string, std::string>& given) {
  std::string values;
  for (const auto& [name, value] : given) {
    absl::StrAppend(&values, values.empty() ? "" : ",", name, "=", DigestOf(name, value));
  }
  return values;
}

void DropGivenValues(std::map<std::string, std::string>& environment) {
  const auto given = environment.extract(kGivenVariable);
  if (given.empty() || given.mapped().size() > kMaxGivenBytes) return;
  for (const absl::string_view entry : absl::StrSplit(given.mapped(), ',')) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    const auto found = environment.find(parts.first);
    if (found != environment.end() && DigestOf(found->first, found->second) == parts.second) environment.erase(found);
  }
}

std::map<std::string, std::string> OwnEnvironment() {
  std::map<std::string, std::string> environment = ProcessEnvironment();
  DropGivenValues(environment);
  return environment;
}

}  // namespace muster
