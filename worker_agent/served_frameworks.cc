// --horovod   what is served
//
// gloo        Horovod's rendezvous
// mpi         MPI, of either family
// none        nothing
// auto        the rendezvous, for Python that imports horovod, unless MPI is served, or the command is started once
#include "worker_agent/served_frameworks.h"

#include "worker_agent/launch/command/python_module.h"

namespace muster::agent {
namespace {

bool HasAProcessForEachRank(const AgentSettings& settings) {
  return !settings.per_node && !settings.per_job && settings.role == "MS_WORKER";
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

}  // namespace muster::agent
