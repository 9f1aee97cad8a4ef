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

  // Sets Muster's value in place of an inherited one, which the notice then names if it differs.
  void Identity(const std::string& name, const std::string& value);
  void Identity(const std::string& name, uint64_t value) { Identity(name, std::to_string(value)); }
  // Removes an identity variable that this process must not have: an inherited value belongs to another process.
  void Drop(const std::string& name);
  // Sets Muster's value without a notice: an inherited one was meant for the agent, which has already used it.
  void Replace(const std::string& name, const std::string& value) { Set(name, value); }
  // Leaves the variable out, without a notice.
  void Withhold(const std::string& name) { variables_.erase(name); }
  // Sets Muster's value only if the user has not set one. An empty inherited value counts as not set.
  void Default(const std::string& name, const std::string& value);

  // Treats Muster's value as the user's, by taking it out of Environment::given: an agent inside the process then keeps
  // it. Used for values that also apply to the processes of that inner agent, such as the visible devices.
  void Pass(const std::string& name) { given_.erase(name); }

  // Appends the folder to the inherited list of folders.
  void Append(const std::string& name, const std::string& folder);

  // Returns the inherited value; empty if there is none.
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

// Returns this slot's part of the assignment.
const v1::SlotAssignment& SlotOf(const EnvironmentInput& input);
// Returns the number of ranks of this node's role.
uint32_t WorldSizeOf(const EnvironmentInput& input);
// True if --env gives MASTER_ADDR or MASTER_PORT.
bool IsMasterNamed(const EnvironmentInput& input);
// Returns DEVICE_ID's value: input.device_id, else the offer's, else the local rank.
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
