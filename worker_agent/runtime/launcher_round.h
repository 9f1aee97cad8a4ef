// The state that all processes of one launch share; for the launcher's own parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker_agent/runtime/launcher.h"

namespace muster::agent {

struct Launcher::Round {
  v1::DesiredState desired;
  std::optional<v1::PeerList> peers;
  std::vector<v1::SlotOffer> offers;  // of this node, by slot
  std::string node_id;
  std::string own_address;
  std::string own_fingerprint;  // as the peers know it
  std::string cluster_file;
  std::string collective_interface;  // empty: not set
  std::string rank_table_file;       // the user's, or the one made for this round; empty: none
  std::optional<HcclChief> hccl_chief;
  std::vector<std::string> command;

  const v1::SlotAssignment& slot(uint32_t slot) const { return desired.assignment().slots(static_cast<int>(slot)); }
  ProcessKey key(uint32_t slot_number) const { return {slot_number, desired.round(), slot(slot_number).attempt()}; }
};

}  // namespace muster::agent
