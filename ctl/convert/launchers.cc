#include "ctl/convert/launchers.h"

namespace muster::ctl {
namespace {

using enum Meaning;

constexpr char kFilter[] = "stdout and stderr of a process stay together; --tail RANKS selects the ranks to show";

constexpr char kDuplicates[] = "grep in the files of --log_dir finds such lines";

const std::vector<Option>* TorchOptions() {
  static const auto* const kOptions = new std::vector<Option>{
      {{"nproc_per_node"}, kPerNode, 1},
      {{"nnodes"}, kNodes, 1},
      {{"node_rank"}, kNodeRank, 1},
      {{"rdzv_endpoint", "master_addr"}, kHost, 1},
      {{"master_port"}, kDrop, 1},
      {{"rdzv_id"}, kFlag, 1, "job_id"},
      {{"rdzv_backend"}, kDrop, 1},
      {{"rdzv_conf"}, kNoCounterpart, 1, "--topo_timeout SECONDS sets how long to wait for nodes"},
      {{"standalone"}, kStandalone, 0},
      {{"max_restarts"}, kRestarts, 1},
      {{"log_dir"}, kFlag, 1, "log_dir"},
      {{"redirects", "r"}, kStreams, 1, "redirects"},
      {{"tee", "t"}, kStreams, 1, "tee"},
      {{"shutdown_timeout"}, kFlag, 1, "stop_timeout"},
      {{"duplicate_stdout_filters", "duplicate_stderr_filters"}, kNoCounterpart, 1, kDuplicates},
      {{"log_line_prefix_template"}, kNoCounterpart, 1, "lines carry their rank"},
      {{"local_addr"}, kFlag, 1, "worker_ip"},
      {{"m", "module"}, kModule, 0},
      {{"no_python"}, kAsTyped, 0},
      {{"use_env"}, kNoArgument, 0},
      {{"numa_binding"}, kSwitch, 1, "bind_core=auto"},
      {{"role", "monitor_interval", "start_method", "event_log_handler", "logs_specs", "signals_to_handle"}, kDrop, 1},
      {{"enable_tiered_parallel_tcpstore"}, kDrop, 1},
      {{"local_ranks_filter"}, kNoCounterpart, 1, kFilter},
      {{"run_path"}, kNoCounterpart, 0, "write the command as you would type it"},
      {{"virtual_local_rank"}, kNoCounterpart, 0, "--env NAME={local_rank} sets a variable to the local rank"},
  };
  return kOptions;
}

const std::vector<Option>* MpiOptionsOnce() {
  static const auto* const kOptions = new std::vector<Option>{
      {{"np", "n", "c"}, kProcesses, 1},
      {{"npernode", "N", "ppn", "perhost"}, kPerNode, 1},
      {{"H", "host", "hosts"}, kHosts, 1},
      {{"hostfile", "host_file", "machinefile", "f", "default_hostfile"}, kHostFile, 1},
      {{"x"}, kEnv, 1},
      {{"genv", "env"}, kEnvPair, 2},
      {{"mca", "gmca", "omca"}, kMca, 2},
      {{"map_by"}, kPlacement, 1},
      {{"bynode", "rr"}, kByNode, 0},
      {{"bind_to"}, kSwitch, 1, "bind_core=auto"},
      {{"bind_to_core", "bind_to_socket"}, kSwitch, 0, "bind_core=auto"},
      {{"output_filename"}, kFlag, 1, "log_dir"},
      {{"rank_by"}, kNoCounterpart, 1, "ranks go node by node"},
      {{"wdir", "wd"}, kNoCounterpart, 1, "change to that folder before you start the line"},
      {{"timeout"}, kNoCounterpart, 1, "put timeout SECONDS in front of the line"},
      {{"iface"}, kNoCounterpart, 1, "--worker_ip ADDRESS names the interface's address"},
      {{"prefix"}, kNoCounterpart, 1, "set PATH and LD_LIBRARY_PATH"},
      {{"path"}, kNoCounterpart, 1, "set PATH"},
      {{"rankfile", "rf"}, kNoCounterpart, 1, "--node_rank orders the nodes"},
      {{"genvlist", "envlist"}, kDrop, 1},
      {{"prtemca", "pmixmca"}, kDrop, 2},
      {{"launcher", "bootstrap", "launcher_exec", "bootstrap_exec", "rsh", "stdin", "output", "display",
        "runtime_options"},
       kDrop,
       1},
      {{"allow_run_as_root",
        "oversubscribe",
        "nooversubscribe",
        "tag_output",
        "timestamp_output",
        "merge_stderr_to_stdout",
        "l",
        "prepend_rank",
        "q",
        "quiet",
        "report_bindings",
        "display_map",
        "display_allocation",
        "v",
        "verbose",
        "genvall",
        "envall",
        "byslot",
        "bycore",
        "bind_to_none",
        "nolocal",
        "noprefix",
        "use_hwthread_cpus",
        "disable_hostname_propagation",
        "print_rank_map"},
       kDrop,
       0},
  };
  return kOptions;
}

constexpr char kElastic[] = "the size of a job is fixed; --spare nodes take a lost one's place";

const std::vector<Option>* HorovodOptions() {
  static const auto* const kOptions = new std::vector<Option>{
      {{"np", "num_proc"}, kProcesses, 1},
      {{"H", "hosts"}, kHosts, 1},
      {{"hostfile"}, kHostFile, 1},
      {{"mpi_args"}, kMpiArgs, 1},
      {{"gloo"}, kSwitch, 0, "horovod=gloo"},
      {{"mpi"}, kSwitch, 0, "horovod=mpi"},
      {{"start_timeout"}, kFlag, 1, "topo_timeout"},
      {{"output_filename"}, kFlag, 1, "log_dir"},
      {{"log_level"}, kVariable, 1, "HOROVOD_LOG_LEVEL"},
      {{"timeline_filename"}, kVariable, 1, "HOROVOD_TIMELINE"},
      {{"cycle_time_ms"}, kVariable, 1, "HOROVOD_CYCLE_TIME"},
      {{"cache_capacity"}, kVariable, 1, "HOROVOD_CACHE_CAPACITY"},
      {{"fusion_threshold_mb"}, kNoCounterpart, 1, "--env HOROVOD_FUSION_THRESHOLD=BYTES sets it"},
      {{"network_interface", "network_interfaces"}, kNoCounterpart, 1, "--env GLOO_SOCKET_IFNAME=NAME sets it"},
      {{"autotune"}, kSetVariable, 0, "HOROVOD_AUTOTUNE=1"},
      {{"autotune_log_file"}, kVariable, 1, "HOROVOD_AUTOTUNE_LOG"},
      {{"timeline_mark_cycles"}, kSetVariable, 0, "HOROVOD_TIMELINE_MARK_CYCLES=1"},
      {{"hierarchical_allreduce"}, kSetVariable, 0, "HOROVOD_HIERARCHICAL_ALLREDUCE=1"},
      {{"hierarchical_allgather"}, kSetVariable, 0, "HOROVOD_HIERARCHICAL_ALLGATHER=1"},
      {{"no_stall_check"}, kSetVariable, 0, "HOROVOD_STALL_CHECK_DISABLE=1"},
      {{"num_nccl_streams"}, kVariable, 1, "HOROVOD_NUM_NCCL_STREAMS"},
      {{"config_file"}, kNoCounterpart, 1, "set what the file sets with --env NAME=VALUE"},
      {{"binding_args"}, kNoCounterpart, 1, "--bind_core auto divides a node's CPUs among its processes"},
      {{"min_np", "max_np", "min_num_proc", "max_num_proc", "host_discovery_script", "slots_per_host"},
       kNoCounterpart,
       1,
       kElastic},
      {{"p", "ssh_port", "i", "ssh_identity_file"}, kDrop, 1},
      {{"verbose", "disable_cache", "prefix_output_with_timestamp", "tcp"}, kDrop, 0},
  };
  return kOptions;
}

const std::vector<Option>* MsrunOptions() {
  static const auto* const kOptions = new std::vector<Option>{
      {{"worker_num"}, kProcesses, 1},
      {{"local_worker_num"}, kPerNode, 1},
      {{"master_addr"}, kHost, 1},
      {{"master_port"}, kPort, 1},
      {{"node_rank"}, kNodeRank, 1},
      {{"log_dir"}, kFlag, 1, "log_dir"},
      {{"join"}, kJoin, 1},
      {{"cluster_time_out"}, kFlag, 1, "topo_timeout"},
      {{"tail_worker_log"}, kFlag, 1, "tail"},
      {{"rank_table_file"}, kFlag, 1, "rank_table_file"},
      {{"bind_core"}, kFlag, 1, "bind_core"},
      {{"worker_log_name"}, kNoCounterpart, 1, "logs are called worker_RANK.log"},
      {{"sim_level"}, kVariable, 1, "MS_SIMULATION_LEVEL"},
      {{"sim_rank_id"}, kNoCounterpart, 1, "--env NAME=VALUE sets a variable that the simulation reads"},
  };
  return kOptions;
}

// The options of accelerate 1.15. accelerate itself passes the options of frameworks to the script, in variables, so a
// line with one of them can't be converted.
constexpr char kOfAccelerate[] =
    "accelerate launch hands it to the script itself. Keep accelerate launch, and let ms-worker start it on each node: "
    "ms-worker --per_node --with_scheduler --sched_host HOST --worker_num N --local_worker_num N -- accelerate launch "
    "OPTIONS --num_machines {nnodes} --num_processes {world_size} --machine_rank {node_rank} --main_process_ip "
    "{master_addr} --main_process_port {master_port} train.py, where OPTIONS are the options that configure the "
    "training";

constexpr char kOfTpu[] = "TPU pods and SageMaker have no counterpart";

constexpr char kDefaults[] =
    "accelerate's default configuration file is not read here: write its settings (accelerate env shows them) as "
    "options in the old line";

const std::vector<Option>* AccelerateOptions() {
  static const auto* const kOptions = new std::vector<Option>{
      {{"num_processes"}, kProcesses, 1},
      {{"num_machines"}, kNodes, 1},
      {{"machine_rank"}, kNodeRank, 1},
      {{"main_process_ip"}, kHost, 1},
      {{"main_process_port", "rdzv_backend", "role", "monitor_interval"}, kDrop, 1},
      {{"multi_gpu", "same_network", "quiet", "q"}, kDrop, 0},
      {{"rdzv_conf"}, kNoCounterpart, 1, "--topo_timeout SECONDS sets how long to wait for nodes"},
      {{"max_restarts"}, kRestarts, 1},
      {{"log_dir"}, kFlag, 1, "log_dir"},
      {{"tee", "t"}, kStreams, 1, "tee"},
      {{"module", "m"}, kModule, 0},
      {{"no_python"}, kAsTyped, 0},
      {{"cpu"}, kSetVariable, 0, "ACCELERATE_USE_CPU=true"},
      {{"mixed_precision"}, kVariable, 1, "ACCELERATE_MIXED_PRECISION"},
      {{"num_cpu_threads_per_process"}, kVariable, 1, "OMP_NUM_THREADS"},
      {{"enable_cpu_affinity"}, kSetVariable, 0, "ACCELERATE_CPU_AFFINITY=1"},
      {{"debug"}, kSetVariable, 0, "ACCELERATE_DEBUG_MODE=true"},
      {{"dynamo_backend"}, kVariable, 1, "ACCELERATE_DYNAMO_BACKEND"},
      {{"dynamo_mode"}, kVariable, 1, "ACCELERATE_DYNAMO_MODE"},
      {{"dynamo_use_fullgraph"}, kSetVariable, 0, "ACCELERATE_DYNAMO_USE_FULLGRAPH=true"},
      {{"dynamo_use_dynamic"}, kSetVariable, 0, "ACCELERATE_DYNAMO_USE_DYNAMIC=true"},
      {{"dynamo_use_regional_compilation"}, kSetVariable, 0, "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION=true"},
      {{"gpu_ids"}, kNoCounterpart, 1, "put CUDA_VISIBLE_DEVICES=IDS in front of the line"},
      {{"config_file", "deepspeed_*", "zero_stage", "offload_*", "gradient_*", "zero3_*", "fsdp_*", "megatron_lm_*",
        "fp8_*", "parallelism_config_*"},
       kRefused,
       1,
       kOfAccelerate},
      {{"use_deepspeed", "use_fsdp", "use_megatron_lm", "use_parallelism_config"}, kRefused, 0, kOfAccelerate},
      {{"mpirun_hostfile"}, kRefused, 1, "convert the line of mpirun: mpirun -np N --hostfile FILE python train.py"},
      {{"vm", "env", "main_training_function", "aws_access_key_id", "aws_secret_access_key"}, kRefused, 1, kOfTpu},
      {{"tpu", "tpu_cluster", "no_tpu_cluster", "tpu_use_sudo", "downcast_bf16"}, kRefused, 0, kOfTpu},
  };
  return kOptions;
}

constexpr char kHostsOfIt[] = "start the line on the hosts that are to train, and write --num_nodes and --num_gpus";

// The options of deepspeed 0.19, and the options for elastic jobs of older versions.
const std::vector<Option>* DeepspeedOptions() {
  static const auto* const kOptions = new std::vector<Option>{
      {{"hostfile", "H"}, kHostFile, 1},
      {{"num_nodes"}, kNodes, 1},
      {{"num_gpus", "num_accelerators"}, kPerNode, 1},
      {{"include", "i"}, kDevices, 1, kHostsOfIt},
      {{"exclude", "e"}, kRefused, 1, kHostsOfIt},
      {{"node_rank"}, kNodeRank, 1},
      {{"master_addr"}, kHost, 1},
      {{"module"}, kModule, 0},
      {{"no_python"}, kAsTyped, 0},
      {{"no_local_rank"}, kNoArgument, 0},
      {{"enable_each_rank_log"}, kFlag, 1, "log_dir"},
      {{"bind_cores_to_rank"}, kSwitch, 0, "bind_core=auto"},
      {{"bind_core_list"}, kNoCounterpart, 1, "--bind_core auto divides a node's CPUs among its processes"},
      {{"venv_script"}, kNoCounterpart, 1, "start the line in that environment"},
      {{"autotuning"}, kRefused, 1, "the autotuner starts jobs of its own: run it with deepspeed"},
      {{"elastic_training"}, kRefused, 0, "the size of a job is fixed; --spare nodes take a lost one's place"},
      {{"min_elastic_nodes", "max_elastic_nodes"}, kDrop, 1},
      {{"master_port", "launcher", "launcher_args", "ssh_port", "log_level"}, kDrop, 1},
      {{"no_ssh", "no_ssh_check", "force_multi", "save_pid", "quiet", "q"}, kDrop, 0},
  };
  return kOptions;
}

const std::vector<Launcher>& Launchers() {
  static const auto* const kLaunchers = new std::vector<Launcher>{
      {.name = "torchrun",
       .programs = {"torchrun", "torch_npu_run", "torch.distributed.run", "torch_npu.distributed.run"},
       .options = TorchOptions(),
       .abbreviates = true,
       .starts_python = true,
       .processes = "1",
       .asks = "--nproc_per_node N"},
      {.name = "torch.distributed.launch",
       .programs = {"torch.distributed.launch"},
       .options = TorchOptions(),
       .abbreviates = true,
       .starts_python = true,
       .gives_local_rank = true,
       .processes = "1",
       .asks = "--nproc_per_node N"},
      {.name = "accelerate launch",
       .programs = {"accelerate launch", "accelerate-launch", "accelerate.commands.launch",
                    "accelerate.commands.accelerate_cli launch"},
       .options = AccelerateOptions(),
       .starts_python = true,
       .asks = "--num_processes N",
       .note = kDefaults},
      {.name = "deepspeed",
       .programs = {"deepspeed", "deepspeed.pt", "deepspeed.launcher.runner"},
       .options = DeepspeedOptions(),
       .abbreviates = true,
       .starts_python = true,
       .gives_local_rank = true,
       .processes = "auto",
       .asks = "--num_gpus N"},
      {.name = "mpirun",
       .programs = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi",
                    "mpirun.mpich", "mpiexec.mpich"},
       .options = MpiOptions(),
       .asks = "-np N"},
      {.name = "horovodrun",
       .programs = {"horovodrun", "horovod.runner.launch"},
       .options = HorovodOptions(),
       .abbreviates = true,
       .asks = "-np N"},
      {.name = "msrun",
       .programs = {"msrun", "mindspore.parallel.cluster.run"},
       .options = MsrunOptions(),
       .abbreviates = true,
       .starts_python = true,
       .processes = "8",
       .asks = "--worker_num N"},
  };
  return *kLaunchers;
}

}  // namespace

const std::vector<Option>* MpiOptions() { return MpiOptionsOnce(); }

const Launcher* FindLauncher(const std::string& name) {
  for (const Launcher& launcher : Launchers()) {
    for (const char* program : launcher.programs) {
      if (name == program) return &launcher;
    }
  }
  return nullptr;
}

}  // namespace muster::ctl
