// For torchft, whose managers read where their lighthouse is.
#include "absl/strings/str_cat.h"
#include "worker_agent/launch/environment/environment_builder.h"

namespace muster::agent {

void AddTorchftVariables(const EnvironmentInput& input, EnvironmentBuilder& builder) {
  if (input.lighthouse_port == 0) return;
  builder.Identity("TORCHFT_LIGHTHOUSE", absl::StrCat("http://127.0.0.1:", input.lighthouse_port));
}

}  // namespace muster::agent
