#include "worker_agent/launch/environment/environment_builder.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace muster::agent {
namespace {

bool IsSecret(const std::string& name) {
  return absl::StartsWith(name, "MS_TLS_") && absl::StrContains(name, "PASSWORD");
}

}  // namespace

EnvironmentBuilder::EnvironmentBuilder(const std::map<std::string, std::string>& inherited,
                                       const std::map<std::string, std::string>& overrides)
    : inherited_(inherited), overrides_(overrides) {
  for (const auto& [name, value] : inherited) {
    if (!IsSecret(name)) variables_[name] = value;
  }
}

void EnvironmentBuilder::Identity(const std::string& name, const std::string& value) {
  NoteReplaced(name, value);
  Set(name, value);
}

void EnvironmentBuilder::Set(const std::string& name, const std::string& value) {
  variables_[name] = given_[name] = value;
}

void EnvironmentBuilder::Drop(const std::string& name) {
  NoteReplaced(name, "");
  variables_.erase(name);
}

void EnvironmentBuilder::Default(const std::string& name, const std::string& value) {
  std::string& current = variables_[name];
  if (current.empty()) Set(name, value);
}

void EnvironmentBuilder::Append(const std::string& name, const std::string& folder) {
  const std::string list = Inherited(name);
  if (list.empty()) {
    variables_[name] = folder;
  } else if (!absl::StrContains(absl::StrCat(":", list, ":"), absl::StrCat(":", folder, ":"))) {
    variables_[name] = absl::StrCat(list, ":", folder);
  }
}

std::string EnvironmentBuilder::Inherited(const std::string& name) const {
  const auto found = inherited_.find(name);
  return found == inherited_.end() ? "" : found->second;
}

void EnvironmentBuilder::NoteReplaced(const std::string& name, const std::string& ours) {
  const std::string theirs = Inherited(name);
  if (!theirs.empty() && theirs != ours && !overrides_.contains(name)) replaced_[name] = theirs;
}

Environment EnvironmentBuilder::Build() && {
  for (const auto& [name, value] : overrides_) {
    variables_[name] = value;
    given_.erase(name);
  }
  Environment environment;
  environment.variables.reserve(variables_.size());
  for (const auto& [name, value] : variables_) environment.variables.push_back(absl::StrCat(name, "=", value));
  environment.given = std::move(given_);
  environment.replaced = std::move(replaced_);
  return environment;
}

bool IsMasterNamed(const EnvironmentInput& input) {
  return input.overrides.contains("MASTER_ADDR") || input.overrides.contains("MASTER_PORT");
}

const v1::SlotAssignment& SlotOf(const EnvironmentInput& input) {
  MUSTER_CHECK(input.desired != nullptr && input.desired->has_assignment(), "a process is started on an assignment");
  const v1::Assignment& assignment = input.desired->assignment();
  MUSTER_CHECK(input.slot < static_cast<uint32_t>(assignment.slots_size()), "the assignment has this slot");
  return assignment.slots(static_cast<int>(input.slot));
}

uint32_t WorldSizeOf(const EnvironmentInput& input) {
  const v1::Assignment& assignment = input.desired->assignment();
  return assignment.role() == v1::ROLE_SERVER ? assignment.server_num() : assignment.worker_num();
}

std::string DeviceIdOf(const EnvironmentInput& input) {
  if (!input.device_id.empty()) return input.device_id;
  return input.offer.device_id().empty() ? std::to_string(SlotOf(input).local_rank()) : input.offer.device_id();
}

}  // namespace muster::agent
