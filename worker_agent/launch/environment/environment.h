// Builds the environment of a training process: its own identity, the addresses of its peers, its framework's
// variables.
//
// Kinds of variables (each framework's env_*.cc lists its own):
//   identity   rank, size, id, role, round, the scheduler's address and TORCHELASTIC_*: Muster's value replaces an
//              inherited one, and a notice (ReplacedNotice) names it;
//   replaced   variables that the user sets for the agent itself: Muster's value, without a notice;
//   appended   PYTHONPATH: the user's folders, then Muster's;
//   defaults   tuning and endpoints (MASTER_ADDR, OMP_NUM_THREADS, HCCL_*, …): Muster's value if the user set none;
//   overrides  --env N=V: replaces a value of any kind above. {rank} and other placeholders in V are filled in.
// All other variables are inherited, except the passwords of TLS, which are never passed on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/launch/environment/placeholders.h"

namespace muster::agent {

// The variable with a secret of this start of the agent. It shows a later start which processes this start has left.
inline constexpr char kStartVariable[] = "MUSTER_START";

// The process of rank 0, to which all ranks connect if HCCL has no rank table (TensorFlow). Equal for all processes.
struct HcclChief {
  std::string address;  // of rank 0's machine; numeric
  uint32_t port = 0;
  std::string device_id;  // rank 0's
};

struct EnvironmentInput {
  const v1::DesiredState* desired = nullptr;  // must have an assignment with slot `slot`; outlives the call
  const v1::PeerList* peers = nullptr;  // of the same round; null: not known (HOROVOD_CROSS_* then assume that all
                                        // machines have equal numbers of processes)
  uint32_t slot = 0;
  v1::SlotOffer offer;             // what the node offered for this slot
  std::string device_variable;     // the variable of visible devices; empty: it is not set
  std::string visible_devices;     // its value
  bool are_devices_named = false;  // --devices names them: they replace an inherited value, without a notice
  std::string device_id;           // the device that the process opens; empty: the offered one, or the local rank
  bool is_one_for_node = false;    // --per_node, --per_job: one process stands for all slots of the agent
  std::string job_id;
  std::string node_id;
  std::string start_secret;          // the value of kStartVariable; empty: it is not set
  std::string own_address;           // numeric; this node's, as its peers see it
  std::string collective_interface;  // for GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME; empty: they are not set
  bool has_ompi = false;             // --ompi_env
  bool is_jax_detected = false;      // --jax auto-detect
  bool has_tf_config = false;        // --tf_config; `peers` must not be null then
  bool brings_own_store = false;     // the command is a launcher that hosts PyTorch's store itself (torchrun)
  std::string scheduler_host;
  uint32_t scheduler_port = 0;
  bool has_gateway = false;       // scheduler_host and scheduler_port are the agent's own gateway for MindSpore
  bool has_torch_store = false;   // rank 0's agent serves PyTorch's store at the assignment's master address and port
  uint32_t local_store_port = 0;  // the port of loopback where this machine's processes reach that store; 0: none
  bool has_mpi = false;           // this agent launches the ranks of an MPI program
  std::map<std::string, std::string> mpi_variables;  // for MPI's libraries; empty without has_mpi
  bool shares_cpus = false;                          // this machine has fewer CPUs than MPI ranks
  uint32_t horovod_port = 0;                         // of loopback: Horovod's rendezvous for this process; 0: none
  bool has_horovod_mpi = false;                      // --horovod mpi
  uint32_t script_store_port = 0;                    // of loopback: the job's store for this process; 0: none
  uint32_t jax_port = 0;  // of loopback: JAX's coordination service for this process; 0: none
  std::map<std::string, std::string> gateway_variables;  // identities that the agent's other gateways add
  // --allow_exec: the folder of the program that launchers run in place of ssh, and variables that make them run it.
  // Empty: --allow_exec is not given.
  std::string launch_agent_folder;
  bool serves_commands = false;  // the environment is for remote commands: it gets no MS_TLS_* and no token of HTTP
  std::map<std::string, std::string> exec_variables;
  std::map<std::string, std::string> exec_defaults;
  std::string cluster_file;
  std::string progress_file;
  std::string stacks_file;
  std::string python_folder;    // of muster_training.py; empty: there is no such file
  std::string error_file;       // TORCHELASTIC_ERROR_FILE; empty: none
  std::string rank_table_file;  // the user's, or the one that was made for this round; empty: none
  std::optional<HcclChief> hccl_chief;
  std::string master_address;  // the user's setting; empty: not set
  std::string master_port;     // the user's setting; empty: not set
  uint32_t max_restarts = 0;
  std::optional<bool> enable_recovery;
  std::map<std::string, std::string> inherited;
  std::map<std::string, std::string> overrides;  // --env
};

struct Environment {
  std::vector<std::string> variables;           // NAME=VALUE, sorted by name
  std::map<std::string, std::string> given;     // Muster's values; an agent inside the process knows them by this list
  std::map<std::string, std::string> replaced;  // inherited identities that differed: name → inherited value
};

// Builds the environment. {master_addr} and {master_port} in an override have the values that the process would find
// without the overrides that contain braces.
Environment BuildEnvironment(const EnvironmentInput& input);

// Returns one line for people that names the replaced values; empty if there are none. Merge the maps of all slots
// first, so that there is one line for the whole node.
std::string ReplacedNotice(const std::map<std::string, std::string>& replaced);

// Returns the values of {rank} and the other placeholders for the process with this environment. {master_addr} and
// {master_port} are MASTER_ADDR and MASTER_PORT of its environment. If these lead to its own agent, which relays to the
// store, they are rank 0's machine and port instead.
Placeholders PlaceholdersFor(const EnvironmentInput& input, const Environment& environment);

// Returns the folder of muster_training.py, a module that training scripts may import: ../lib/muster/python, seen from
// the folder of `program`. This is so in a build and in an installation. Empty: the module isn't there. The folder must
// contain no other modules, since it goes into every training process's PYTHONPATH.
std::string PythonFolder(const std::string& program);

}  // namespace muster::agent
