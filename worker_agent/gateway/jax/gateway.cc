#include "worker_agent/gateway/jax/gateway.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {
namespace {

// The same on all agents of the round; a process of another round, or of another job, has another one.
uint64_t IncarnationOf(const RoundLayout& layout) {
  const std::string digest = Sha256(absl::StrCat("jax ", layout.id, " ", layout.run, ".", layout.round));
  uint64_t incarnation = 0;
  for (size_t i = 0; i < sizeof(incarnation); ++i) {
    incarnation = incarnation << 8 | static_cast<unsigned char>(digest[i]);
  }
  return incarnation | 1;  // never 0, which means none
}

}  // namespace

absl::Status JaxGateway::Begin(const GatewayRound& round) {
  if (server_ != nullptr && begun_.Is(round)) return NoneStartsAlone("a JAX");
  server_.reset();
  const absl::StatusOr<RoundLayout> layout = LayoutOf(round);
  if (!layout.ok()) return layout.status();
  TaskLayout tasks = TasksOf(*layout);
  tasks_ = tasks.agents[tasks.own];
  absl::StatusOr<std::unique_ptr<jax::Server>> server =
      jax::Server::Start(store_, clock_, std::move(tasks), IncarnationOf(*layout));
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  begun_.Set(round);
  return absl::OkStatus();
}

void JaxGateway::AddTo(EnvironmentInput& input) const { input.jax_port = server_->port(); }

void JaxGateway::Judge(const ProcessKey& key, ProcessEnd& end) {
  const bool is_of_round = server_ != nullptr && begun_.IsOf(key) && key.slot < tasks_.size();
  if (is_of_round && end.IsSuccess()) server_->Ended(tasks_[key.slot]);
}

void JaxGateway::Stopping(const std::string& why, absl::Duration limit) {
  if (server_ != nullptr) server_->Stop(why, limit);
}

// The server stays until its processes are gone, so that they hear the reason and not that their connection broke.
void JaxGateway::WhyOver(const std::string& why) {
  if (server_ != nullptr) server_->End(why);
}

}  // namespace muster::agent
