#include "worker_agent/gateway/registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/net/ip_network.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/chassis/grpc_server.h"
#include "worker_agent/gateway/exec/gateway.h"
#include "worker_agent/gateway/horovod/gateway.h"
#include "worker_agent/gateway/jax/gateway.h"
#include "worker_agent/gateway/lighthouse/gateway.h"
#include "worker_agent/gateway/mindspore/gateway.h"
#include "worker_agent/gateway/mpi/gateway.h"
#include "worker_agent/gateway/script_store/gateway.h"
#include "worker_agent/gateway/torch_store/gateway.h"
#include "worker_agent/launch/command/mpi_program.h"
#include "worker_agent/launch/command/python_module.h"
#include "worker_agent/launch/command/script_ports.h"

namespace muster::agent {
namespace {

using Variables = std::map<std::string, std::string>;
using How = Serving::How;
using Made = absl::StatusOr<std::unique_ptr<Gateway>>;

bool HasAProcessForEachRank(const AgentSettings& settings) {
  return !settings.per_node && !settings.per_job && settings.role == "MS_WORKER";
}

Serving ServeMindSpore(const AgentSettings& settings, const Variables&) {
  if (settings.mindspore_gateway == "off" || settings.command.empty()) return {};
  return {settings.mindspore_gateway == "on" ? How::kAlways : How::kIfItBegins};
}

Made MakeMindSpore(const GatewayInputs& inputs) {
  if (inputs.mindspore_ports.empty()) {
    Log(Severity::kInfo, absl::StrCat("MindSpore processes get the scheduler's address, because no ports were "
                                      "reserved for the gateway: ",
                                      inputs.no_mindspore_ports));
    return nullptr;
  }
  return MakeMindSporeGateway({inputs.mindspore_ports, inputs.tls, [&store = inputs.store] { return store.HasRoom(); }},
                              inputs.store, inputs.clock);
}

Serving ServeTorchStore(const AgentSettings& settings, const Variables&) {
  return {settings.command.empty() ? How::kNot : How::kIfItBegins};
}

Made MakeTorchStore(const GatewayInputs& inputs) {
  const AgentSettings& settings = inputs.settings;
  TorchStoreOptions options;
  options.job_id = settings.job_id;
  options.is_relay_asked = settings.torch_store_relay.value_or(settings.tls.require_tls);
  options.is_plain_port_refused = settings.tls.require_tls && settings.torch_store_relay.value_or(true);
  options.tls = inputs.tls;
  uint32_t port = 0;
  if (absl::SimpleAtoi(settings.master_port, &port)) options.wanted_port = static_cast<uint16_t>(port);
  options.networks = *ParseNetworks(settings.torch_store_peers);
  options.script_ports = PortsOfScript(settings.command).ports;
  return std::make_unique<TorchStoreGateway>(std::move(options), inputs.clock);
}

bool AsksForMpi(const AgentSettings& settings) { return settings.mpi == "auto" && HasAProcessForEachRank(settings); }

MpiFamily FamilyFor(const AgentSettings& settings, const Variables& environment) {
  if (settings.mpi == "pmi1") return MpiFamily::kPmi1;
  if (settings.mpi == "pmix") return MpiFamily::kPmix;
  if (!AsksForMpi(settings)) return MpiFamily::kNone;
  if (settings.horovod == "mpi") return MpiFamily::kEither;
  const auto path = environment.find("PATH");
  return MpiFamilyOf(settings.command, path == environment.end() ? nullptr : &path->second);
}

Serving ServeMpi(const AgentSettings& settings, const Variables& environment) {
  return {FamilyFor(settings, environment) == MpiFamily::kNone ? How::kNot : How::kAlways};
}

Made MakeMpi(const GatewayInputs& inputs) {
  return MakeMpiGateway(
      {FamilyFor(inputs.settings, inputs.environment), inputs.programs + "/ms-pmix", inputs.work_folder}, inputs.store,
      inputs.clock);
}

// Values of --horovod and what they serve:
//
// gloo        Horovod's rendezvous
// mpi         MPI, of either family
// none        nothing
// auto        Horovod's rendezvous, if the command is Python that imports horovod, MPI is not served, and each rank has
//             a process of its own
//
// auto does not choose MPI: the command may be linked with MPI and not use it.
Serving ServeHorovod(const AgentSettings& settings, const Variables& environment) {
  bool is_served = settings.horovod == "gloo";
  if (settings.horovod == "auto") {
    is_served = FamilyFor(settings, environment) == MpiFamily::kNone && HasAProcessForEachRank(settings) &&
                UsesPythonModule(settings.command, "horovod");
  }
  return {is_served ? How::kAlways : How::kNot};
}

Serving ServeUnservedMpi(const AgentSettings& settings, const Variables& environment) {
  const bool is_unserved = FamilyFor(settings, environment) == MpiFamily::kNone && AsksForMpi(settings) &&
                           ServeHorovod(settings, environment).how == How::kNot;
  return {is_unserved ? How::kIfItBegins : How::kNot};
}

Serving ServeLighthouse(const AgentSettings& settings, const Variables&) {
  return {settings.lighthouse.empty() ? How::kNot : How::kAlways};
}

Made MakeLighthouse(const GatewayInputs& inputs) {
  const AgentSettings& settings = inputs.settings;
  return lighthouse::MakeGateway(
      {.name = settings.lighthouse,
       .min_replicas = settings.lighthouse_min_replicas,
       .join_timeout = settings.lighthouse_join_timeout,
       .heartbeat_timeout = settings.lighthouse_heartbeat_timeout},
      [&store = inputs.store](v1::ReplicasReport report, auto done) {
        store.Report(std::move(report), std::move(done));
      },
      inputs.clock);
}

// When --jax makes the agents serve JAX's coordination service:
//
// on           always
// auto-detect  always
// none         never
// auto         if the command is Python that imports jax, each rank has a process of its own, and ranks do not restart
//              one by one; but never if the script names a coordinator_address, since it then starts its own service
Serving ServeJax(const AgentSettings& settings, const Variables&) {
  if (settings.jax != "auto") return {IsJaxNamed(settings) ? How::kAlways : How::kNot};
  const bool may_be_served = HasAProcessForEachRank(settings) && settings.restart_scope.value_or("job") == "job" &&
                             UsesPythonModule(settings.command, "jax");
  if (!may_be_served) return {};
  // If the script takes the address from JAX's variable, it is this agent's address.
  const bool has_own_coordinator = ScriptContains(settings.command, "coordinator_address") &&
                                   !ScriptContains(settings.command, "JAX_COORDINATOR_ADDRESS");
  if (!has_own_coordinator) return {How::kIfItBegins};
  return {How::kNot,
          "--jax auto: the script names a coordinator_address of its own, so its process 0 is JAX's coordination "
          "service; to use the agents' service, remove that address or set --jax on"};
}

Serving ServeExec(const AgentSettings& settings, const Variables&) {
  return {settings.allows_exec ? How::kAlways : How::kNot};
}

Made MakeExec(const GatewayInputs& inputs) {
  return exec::MakeGateway(
      {inputs.programs + "/ms-exec", inputs.work_folder, inputs.tls, inputs.exec_port, inputs.report_commands},
      inputs.store, inputs.clock);
}

constexpr GatewayRow kRows[] = {
    {.name = "mindspore",
     .flag = "mindspore_gateway",
     .values = "auto|on|off",
     .variables = "",
     .without = "MindSpore processes get the scheduler's address",
     .threads = 1,
     .slot_descriptors = 3,  // a port and two connections
     .needs_all_peers = true,
     .serve = ServeMindSpore,
     .make = MakeMindSpore},
    {.name = "torch_store",
     .flag = "torch_store",
     .values = "auto|agent|rank0",
     .variables = "TORCHELASTIC_USE_AGENT_STORE",
     .without = "rank 0 of a PyTorch job hosts its store itself",
     .threads = 1,
     .slot_descriptors = 2,
     .serve = ServeTorchStore,
     .make = MakeTorchStore},
    {.name = "mpi",
     .flag = "mpi",
     .values = "auto|pmix|pmi1|none",
     .variables = "MPI_LOCALNRANKS MPI_LOCALRANKID",
     .without = "MPI programs don't find each other",
     .threads = 3,  // two servers, one for each family, and a thread that starts ms-pmix
     .slot_descriptors = 2,
     .needs_all_peers = true,
     .serve = ServeMpi,
     .make = MakeMpi},
    {.name = "horovod",
     .flag = "horovod",
     .values = "auto|gloo|mpi|none",
     .variables = "HOROVOD_GLOO_RENDEZVOUS_ADDR",
     .without = "Horovod's processes don't find each other",
     .threads = 1,
     .slot_descriptors = 2,  // a port and a connection
     .serve = ServeHorovod,
     .make = [](const GatewayInputs& inputs) -> Made { return horovod::MakeGateway(inputs.store, inputs.clock); }},
    {.name = "unserved_mpi",
     .flag = "mpi",
     .values = "auto|pmix|pmi1|none",
     .variables = "",
     .without = "MPI programs don't find each other",
     .threads = 1,
     .serve = ServeUnservedMpi,
     .make = [](const GatewayInputs&) -> Made { return MakeUnservedMpi(); }},
    {.name = "lighthouse",
     .flag = "lighthouse",
     .values = "NAME",
     .variables = "TORCHFT_LIGHTHOUSE",
     .without = "torchft's processes find no lighthouse",
     .threads = GrpcServer::kThreads,
     .slot_descriptors = 1 + GrpcServer::kDescriptorsOfAConnection,
     .serve = ServeLighthouse,
     .make = MakeLighthouse},
    {.name = "jax",
     .flag = "jax",
     .values = "auto|on|auto-detect|none",
     .variables = "JAX_COORDINATOR_ADDRESS JAX_NUM_PROCESSES JAX_PROCESS_ID",
     .without = "JAX's processes don't find each other",
     .threads = GrpcServer::kThreads,
     .slot_descriptors = GrpcServer::kDescriptorsOfAConnection,
     .serve = ServeJax,
     .make = [](const GatewayInputs& inputs) -> Made {
       return jax::MakeGateway(inputs.store.patient(), inputs.clock);
     }},
    {.name = "script_store",
     .flag = "",
     .values = "",
     .variables = "MUSTER_STORE",
     .without = "scripts don't reach the job's store (muster.store())",
     .threads = 1,
     .slot_descriptors = 1,
     .serve = [](const AgentSettings&, const Variables&) -> Serving { return {How::kIfItBegins}; },
     .make = [](const GatewayInputs& inputs) -> Made {
       return script_store::MakeGateway(inputs.store.patient(), inputs.clock);
     }},
    {.name = "exec",
     .flag = "allow_exec",
     .values = "",
     .variables = "",
     .without = "launchers can't start anything on other nodes",
     .threads = 1,
     .slot_descriptors = 0,
     .needs_all_peers = true,
     .serve = ServeExec,
     .make = MakeExec},
};

}  // namespace

absl::Span<const GatewayRow> GatewayRows() { return kRows; }

ServedGateways::ServedGateways(const AgentSettings& settings, const Variables& environment) {
  for (const GatewayRow& row : kRows) {
    Serving serving = row.serve(settings, environment);
    if (serving.how != How::kNot || !serving.remark.empty()) rows_.emplace_back(&row, std::move(serving));
  }
}

bool ServedGateways::Has(std::string_view name) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return row.first->name == name && row.second.how != How::kNot; });
}

bool ServedGateways::need_all_peers() const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [](const auto& row) { return row.first->needs_all_peers && row.second.how == How::kAlways; });
}

size_t ServedGateways::threads() const {
  size_t sum = 0;
  for (const auto& [row, serving] : rows_) sum += serving.how == How::kNot ? 0 : row->threads;
  return sum;
}

size_t ServedGateways::slot_descriptors() const {
  size_t sum = 0;
  for (const auto& [row, serving] : rows_) sum += serving.how == How::kNot ? 0 : row->slot_descriptors;
  return sum;
}

absl::StatusOr<std::vector<MadeGateway>> ServedGateways::Make(const GatewayInputs& inputs) const {
  std::vector<MadeGateway> made;
  for (const auto& [row, serving] : rows_) {
    if (!serving.remark.empty()) Log(Severity::kInfo, serving.remark);
    if (serving.how == How::kNot) continue;
    Made gateway = row->make(inputs);
    if (!gateway.ok()) return gateway.status();
    if (*gateway != nullptr) made.push_back({*std::move(gateway), serving.how == How::kAlways, row->without});
  }
  return made;
}

}  // namespace muster::agent
