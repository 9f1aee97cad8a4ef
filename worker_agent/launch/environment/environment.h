// The environment of a training process: its own identity, the addresses of the others, and its framework's variables.
//
// Kinds of variables (each framework's env_*.cc lists its own):
//   identity   everything that says rank, size, id, role or round, the scheduler's address and TORCHELASTIC_*: ours,
//              in place of any inherited value;
//   replaced   values meant for the agent, or for this start of it: ours, without a notice;
//   appended   PYTHONPATH: the user's folders, then ours;
//   defaults   tuning and endpoints (MASTER_ADDR, OMP_NUM_THREADS, HCCL_*, …): the user's when set;
//   overrides  --env N=V: above all of these. {rank} and other placeholders in V are filled in.
// The rest is inherited, except the passwords of TLS, which are never passed on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/launch/environment/placeholders.h"

namespace muster::agent {

// A secret that names the agent's start: processes that are left of it are known by this.
inline constexpr char kStartVariable[] = "MUSTER_START";

// The collector of the ranks where there is no rank table (HCCL, TensorFlow): the same for all.
struct HcclChief {
  std::string address;  // numeric; rank 0's machine
  uint32_t port = 0;
  std::string device_id;  // rank 0's
};

struct EnvironmentInput {
  const v1::DesiredState* desired = nullptr;  // with an assignment that has slot `slot`; outlives the call
  const v1::PeerList* peers = nullptr;        // of the same round; null: not known (Horovod's CROSS_* are then those of
                                              // machines with equal numbers of processes)
  uint32_t slot = 0;
  v1::SlotOffer offer;          // what the node offered for this slot
  std::string device_variable;  // of visible devices; empty: it is left alone
  std::string visible_devices;
  bool are_devices_named = false;  // by the user: the inherited value is no news any more
  std::string device_id;           // the device that the process opens; empty: the offered one, or the local rank
  bool is_one_for_node = false;    // --per_node, --per_job: one process stands for all slots of the agent
  std::string job_id;
  std::string node_id;
  std::string start_secret;          // kStartVariable; empty: none
  std::string own_address;           // numeric; this node's, as its peers see it
  std::string collective_interface;  // for GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME; empty: they are left alone
  bool has_ompi = false;             // --ompi_env
  bool is_jax_detected = false;      // --jax auto-detect
  bool has_tf_config = false;        // --tf_config; then `peers` is known
  bool brings_own_store = false;     // the command is a launcher that hosts PyTorch's store itself (torchrun)
  std::string scheduler_host;
  uint32_t scheduler_port = 0;
  bool has_gateway = false;       // the two above are the agent's own gateway for MindSpore
  bool has_torch_store = false;   // rank 0's agent serves PyTorch's store where the assignment says the master is
  uint32_t local_store_port = 0;  // … and this machine's processes reach it at that port of loopback; 0: they don't
  bool has_mpi = false;           // this agent is the launcher of MPI's ranks …
  std::map<std::string, std::string> mpi_variables;  // … and this is what MPI's libraries read of that
  bool shares_cpus = false;                          // this machine has fewer CPUs for MPI's ranks than ranks
  uint32_t horovod_port = 0;       // of loopback, where this process finds Horovod's rendezvous; 0: nowhere
  bool has_horovod_mpi = false;    // --horovod mpi
  uint32_t script_store_port = 0;  // of loopback, where this process finds the job's store; 0: nowhere
  uint32_t jax_port = 0;           // of loopback, where this process finds JAX's coordination service; 0: nowhere
  std::map<std::string, std::string> gateway_variables;  // identities that need no more than this: of its gateways
  // --allow_exec: the folder with the program that launchers take for ssh (empty: none), and the variables that lead to
  // it.
  std::string launch_agent_folder;
  bool serves_commands = false;  // it stands for remote commands, which find no path of a key
  std::map<std::string, std::string> exec_variables;
  std::map<std::string, std::string> exec_defaults;
  std::string cluster_file;
  std::string progress_file;
  std::string stacks_file;
  std::string python_folder;    // of muster_training.py; empty: there is none
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
  std::map<std::string, std::string> given;     // our values, for an agent inside the process
  std::map<std::string, std::string> replaced;  // inherited identity that differed from ours: name → inherited value
};

// {master_addr} in an override stands for the address that the process would find without the overrides with braces.
Environment BuildEnvironment(const EnvironmentInput& input);

// Returns one line for people on the replaced values; merge the maps of all slots first, so that it is said once. Empty
// when nothing was replaced.
std::string ReplacedNotice(const std::map<std::string, std::string>& replaced);

// Returns the values of {rank} and the others for the same process. master_addr and master_port are those that the
// process finds in its environment, or those of rank 0's machine where it reaches the store through its agent.
Placeholders PlaceholdersFor(const EnvironmentInput& input, const Environment& environment);

// Returns the folder of muster_training.py, which training scripts may import: ../lib/muster/python from the folder of
// `program`, in a build as in an installation; empty when the module isn't there. That folder may hold nothing else: it
// goes into every training process's PYTHONPATH.
std::string PythonFolder(const std::string& program);

}  // namespace muster::agent
