// Settles each variable of a process's environment by its kind; see environment.h for the kinds.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "worker_agent/launch/environment/environment.h"

namespace muster::agent {

class EnvironmentBuilder {
 public:
  EnvironmentBuilder(const std::map<std::string, std::string>& inherited,
                     const std::map<std::string, std::string>& overrides);

  // Sets our value, in place of any inherited one.
  void Identity(const std::string& name, const std::string& value);
  void Identity(const std::string& name, uint64_t value) { Identity(name, std::to_string(value)); }
  // Removes an identity that this process does not have: an inherited value would be another process's.
  void Drop(const std::string& name);
  // Sets our value without a notice: the inherited one, if any, was meant for the agent, which has taken it in.
  void Replace(const std::string& name, const std::string& value) { Set(name, value); }
  // Leaves the variable out, without a notice.
  void Withhold(const std::string& name) { variables_.erase(name); }
  // Sets it only when it is neither inherited nor overridden. An empty inherited value counts as not set.
  void Default(const std::string& name, const std::string& value);

  // Marks a value of ours as the user's for an agent inside the process: which devices there are.
  void Pass(const std::string& name) { given_.erase(name); }

  // Appends our folder to the user's list of folders.
  void Append(const std::string& name, const std::string& folder);

  // Returns the value as inherited; empty when there is none.
  std::string Inherited(const std::string& name) const;

  Environment Build() &&;

 private:
  void Set(const std::string& name, const std::string& value);
  void NoteReplaced(const std::string& name, const std::string& ours);

  const std::map<std::string, std::string>& inherited_;
  const std::map<std::string, std::string>& overrides_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> given_;
  std::map<std::string, std::string> replaced_;
};

// Return this slot's part of the assignment, and the sizes of its role.
const v1::SlotAssignment& SlotOf(const EnvironmentInput& input);
uint32_t WorldSizeOf(const EnvironmentInput& input);
// True if the user has said where the master is, or a part of that (--env).
bool IsMasterNamed(const EnvironmentInput& input);
// Returns the device id: as the process sees it, else as offered, else the local rank.
std::string DeviceIdOf(const EnvironmentInput& input);

// Each adds the variables of one framework.
void AddCommonVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddMindSporeVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddMpiVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddExecVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddPyTorchVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddHorovodVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddJaxVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddTensorFlowVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);
void AddHcclVariables(const EnvironmentInput& input, EnvironmentBuilder& builder);

}  // namespace muster::agent
