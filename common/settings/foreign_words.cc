// Words that people know from other launchers. The table says what to write here; {value} is the given value.
//
//   the word counts or names         words
//   all processes of the job         -n, -np, --np, --ntasks, --num_processes, --num_proc, --world_size
//   processes of a node              -N, --npernode, --ppn, --ntasks_per_node, --num_gpus, --gpus_per_node
//   nodes                            --nnodes, --nodes, --num_nodes, --num_machines
//   this process or node             --rank, --local_rank, --machine_rank
//   the scheduler's address          --master_addr, --rdzv_endpoint, --main_process_ip, …
//   which machines                   -H, --hosts, --hostfile, …
//   not needed here                  --rdzv_backend, --allow_run_as_root, …
#include "common/settings/foreign_words.h"

#include "absl/strings/str_replace.h"
#include "common/base/text.h"
#include "common/settings/names.h"

namespace muster {
namespace {

constexpr size_t kMaxShownValue = 60;

constexpr char kAll[] = "write --worker_num {value} for the processes of the whole job, over all nodes";
constexpr char kPerNode[] = "write --local_worker_num {value} for the processes of this node";
constexpr char kNodes[] =
    "the size of a job is counted in workers, not in nodes; write --worker_num with the number of all workers "
    "(nodes × workers on each)";
constexpr char kRank[] =
    "the scheduler gives each process its rank; leave this out, or write --node_rank N for this node's place among the "
    "nodes, from 0";
constexpr char kTwoMeanings[] =
    "this name means two things; for the scheduler that gathers the job write --sched_host and --sched_port, for "
    "PyTorch's MASTER_ADDR and MASTER_PORT write --torch_master_addr and --torch_master_port";
constexpr char kScheduler[] = "write the scheduler's address as --sched_host HOST:PORT";
constexpr char kHosts[] =
    "there is no list of hosts; start ms-worker on each machine (with srun, pdsh or ssh), with the same --sched_host";
constexpr char kCpus[] = "write --bind_core auto";
constexpr char kNotNeeded[] = "leave this out; it is not needed here";
constexpr char kAsTyped[] =
    "leave this out; a command is started as you typed it; only a .py file or -m MODULE is started by python";

struct ForeignWord {
  const char* word;  // as a flag's name; capitals and small letters differ
  const char* why;
};

constexpr ForeignWord kForeignWords[] = {
    {"n", kAll},
    {"np", kAll},
    {"ntasks", kAll},
    {"num_proc", kAll},
    {"num_processes", kAll},
    {"world_size", kAll},
    {"N",
     "this means nodes to srun, and processes of a node to mpirun; write --worker_num for the processes of the whole "
     "job, and --local_worker_num for those of this node"},
    {"npernode", kPerNode},
    {"ppn", kPerNode},
    {"ntasks_per_node", kPerNode},
    {"tasks_per_node", kPerNode},
    {"num_gpus", kPerNode},
    {"gpus_per_node", kPerNode},
    {"nnodes", kNodes},
    {"nodes", kNodes},
    {"num_nodes", kNodes},
    {"num_machines", kNodes},
    {"rank", kRank},
    {"local_rank", kRank},
    {"machine_rank", "write --node_rank {value}"},
    {"master_addr", kTwoMeanings},
    {"master_port", kTwoMeanings},
    {"rdzv_endpoint", kScheduler},
    {"main_process_ip", kScheduler},
    {"main_process_port", kScheduler},
    {"local_addr", "write --worker_ip {value} for the address at which the other nodes reach this node"},
    {"H", kHosts},
    {"host", kHosts},
    {"hosts", kHosts},
    {"hostfile", kHosts},
    {"machinefile", kHosts},
    {"x", "the processes inherit this node's environment; write --env NAME=VALUE to set a variable"},
    {"genv", "the processes inherit this node's environment; write --env NAME=VALUE to set a variable"},
    {"module", "write -m {value} after the settings, and the module's own arguments after it"},
    {"run_path", kAsTyped},
    {"t", "write --tee {value}, or --tail RANKS for the ranks to be shown live"},
    {"r", "write --redirects {value} and --log_dir FOLDER for a file for each process"},
    {"local_ranks_filter", "write --tail RANKS for the ranks to be shown live"},
    {"bind_to", kCpus},
    {"map_by", kCpus},
    {"rdzv_backend", "ms-scheduler is the rendezvous; leave this out"},
    {"rdzv_conf", "write --topo_timeout SECONDS for the time within which all nodes must have joined"},
    {"monitor_interval", kNotNeeded},
    {"start_method", kNotNeeded},
    {"event_log_handler", kNotNeeded},
    {"logs_specs", kNotNeeded},
    {"signals_to_handle", kNotNeeded},
    {"enable_tiered_parallel_tcpstore", kNotNeeded},
    {"virtual_local_rank", "leave this out, and write --env NAME={local_rank} for a variable with the local rank"},
    {"numa_binding", kCpus},
    {"allow_run_as_root", kNotNeeded},
    {"oversubscribe", kNotNeeded},
};

}  // namespace

void ForbidForeignWords(SettingsTable& table) {
  const NameIndex names(table);
  for (const ForeignWord& foreign : kForeignWords) {
    if (names.FindFlag(foreign.word) == nullptr) table.Forbid(foreign.word, foreign.why);
  }
}

std::string ForeignWordHint(const std::string& why, const std::string& value) {
  const bool is_shown = !value.empty() && value.size() <= kMaxShownValue;
  return absl::StrReplaceAll(why, {{"{value}", is_shown ? EscapeControl(value) : "N"}});
}

}  // namespace muster
