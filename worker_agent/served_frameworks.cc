// --horovod   what is served
//
// gloo        Horovod's rendezvous
// mpi         MPI, of either family
// none        nothing
// auto        the rendezvous, for Python that imports horovod, unless MPI is served, or the command is started once
//
// --jax
// on          the coordination service
// auto-detect the same
// none        nothing
// auto        the service, for Python that imports jax, unless its script names a coordinator_address, which would not
//             be this one, or ranks start again one by one, or the command is started once
#include "worker_agent/served_frameworks.h"

#include <utility>

#include "common/base/clock.h"
#include "common/sys/log.h"
#include "worker_agent/launch/command/python_module.h"

namespace muster::agent {
namespace {

bool HasAProcessForEachRank(const AgentSettings& settings) {
  return !settings.per_node && !settings.per_job && settings.role == "MS_WORKER";
}

// An address that the script takes from JAX's variable is this agent's.
bool HasOwnCoordinator(const std::vector<std::string>& command) {
  return ScriptContains(command, "coordinator_address") && !ScriptContains(command, "JAX_COORDINATOR_ADDRESS");
}

bool MayServeJax(const AgentSettings& settings) {
  return HasAProcessForEachRank(settings) && settings.restart_scope.value_or("job") == "job" &&
         UsesPythonModule(settings.command, "jax");
}

}  // namespace

bool AsksForMpi(const AgentSettings& settings) { return settings.mpi == "auto" && HasAProcessForEachRank(settings); }

MpiFamily MpiFamilyFor(const AgentSettings& settings, const std::map<std::string, std::string>& environment) {
  if (settings.mpi == "pmi1") return MpiFamily::kPmi1;
  if (settings.mpi == "pmix") return MpiFamily::kPmix;
  if (!AsksForMpi(settings)) return MpiFamily::kNone;
  if (settings.horovod == "mpi") return MpiFamily::kEither;
  const auto path = environment.find("PATH");
  return MpiFamilyOf(settings.command, path == environment.end() ? nullptr : &path->second);
}

bool ServesHorovod(const AgentSettings& settings, MpiFamily mpi) {
  if (settings.horovod != "auto") return settings.horovod == "gloo";
  return mpi == MpiFamily::kNone && HasAProcessForEachRank(settings) && UsesPythonModule(settings.command, "horovod");
}

bool ServesJax(const AgentSettings& settings) {
  if (settings.jax != "auto") return IsJaxNamed(settings);
  return MayServeJax(settings) && !HasOwnCoordinator(settings.command);
}

ServedFrameworks::ServedFrameworks(MpiGatewayOptions mpi, AgentStore& store)
    : family_(mpi.family),
      store_(store),
      mpi_(MakeMpiGateway(std::move(mpi), store, Clock::System())),
      horovod_(horovod::MakeGateway(store, Clock::System())),
      jax_(jax::MakeGateway(store.patient(), Clock::System())),
      script_store_(script_store::MakeGateway(store.patient(), Clock::System())) {}

void ServedFrameworks::AddTo(Launcher& launcher, const AgentSettings& settings) {
  if (family_ != MpiFamily::kNone) launcher.AddGateway(*mpi_, /*is_required=*/true);
  if (ServesHorovod(settings, family_)) {
    launcher.AddGateway(*horovod_, /*is_required=*/true);  // may be linked with MPI and not use it
  } else if (family_ == MpiFamily::kNone && AsksForMpi(settings)) {
    launcher.AddGateway(*unserved_mpi_, /*is_required=*/false);
  }
  if (!settings.lighthouse.empty()) {
    lighthouse_ = lighthouse::MakeGateway(
        {.name = settings.lighthouse,
         .min_replicas = settings.lighthouse_min_replicas,
         .join_timeout = settings.lighthouse_join_timeout,
         .heartbeat_timeout = settings.lighthouse_heartbeat_timeout},
        [this](v1::ReplicasReport report, auto done) { store_.Report(std::move(report), std::move(done)); },
        Clock::System());
    launcher.AddGateway(*lighthouse_, /*is_required=*/true);
  }
  if (ServesJax(settings)) {
    launcher.AddGateway(*jax_, /*is_required=*/IsJaxNamed(settings));
  } else if (settings.jax == "auto" && MayServeJax(settings)) {
    Log(Severity::kInfo,
        "--jax auto: the script names a coordinator_address of its own, so its process 0 is JAX's coordination "
        "service; without it, or with --jax on, the agents are");
  }
  launcher.AddGateway(*script_store_, /*is_required=*/false);
}

}  // namespace muster::agent
