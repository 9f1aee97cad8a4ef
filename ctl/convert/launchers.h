// Tables with the options of other launchers, and what each means for ms-worker. launcher_options.cc reads them.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

// The meaning of an option. `text`: see Option.
enum class Meaning {
  kProcesses,      // the number of processes of the whole job
  kPerNode,        // the number of processes of a node, or a word such as torchrun's "auto" or "gpu"
  kNodes,          // the number of nodes
  kNodeRank,       // the rank of this node
  kHost,           // the name of the first node; a port after it is left out
  kPort,           // the port of MindSpore's scheduler, which becomes the port of ms-scheduler
  kHosts,          // a list of hosts with slots: a:4,b:4
  kHostFile,       // a file with such a list
  kFlag,           // ms-worker's setting `text`, with the option's value
  kSwitch,         // ms-worker's setting `text`, without a value
  kRestarts,       // the number of restarts: --enable_recovery --max_restarts N
  kStandalone,     // a job of one node
  kModule,         // the command is a Python module
  kAsTyped,        // the command is not a Python script
  kEnv,            // a variable for the processes: NAME=VALUE or NAME
  kEnvPair,        // a variable in two values: NAME VALUE
  kMca,            // a parameter of Open MPI in two values: NAME VALUE
  kMpiArgs,        // horovodrun's options for mpirun, in one word
  kVariable,       // the variable `text` gets the option's value
  kSetVariable,    // a variable is set: `text` is NAME=VALUE
  kStreams,        // torchrun's 0, 1, 2, 3 or a list by local rank; `text` is "redirects" or "tee"
  kJoin,           // msrun's True or False: whether it waits for the job
  kPlacement,      // Open MPI's --map-by
  kByNode,         // consecutive processes go to different hosts, in turn
  kDrop,           // left out without a note, because ms-worker does not need it
  kNoCounterpart,  // left out with a note; `text` says what to do instead
  kRefused,        // the line can't be converted; `text` says what to write
  kDevices,        // devices of this machine: deepspeed's localhost:0,1
  kNoArgument,     // the script gets no --local_rank: torch.distributed.launch --use_env
};

struct Option {
  std::vector<const char*> names;  // with underscores and without leading dashes; "fsdp_*" means all that begin with it
  Meaning meaning;
  int values;             // the number of its values; the first may also follow a "=" in the option's word
  const char* text = "";  // its use depends on `meaning`
};

struct Launcher {
  const char* name;  // for messages
  // The names of the program: the last part of its path, or the module that Python runs. A name of two words, such as
  // "accelerate launch", includes the next word of the line.
  std::vector<const char*> programs;
  const std::vector<Option>* options;
  bool abbreviates = false;       // options may be abbreviated, as in Python's argparse
  bool starts_python = false;     // the command is a Python script, unless an option says otherwise
  bool gives_local_rank = false;  // the launcher adds the argument --local_rank to the command
  const char* processes = "";     // the default number of processes of a node, or "auto"; empty: there is no default
  const char* asks = "";          // the option that sets the number of processes, for messages
  const char* note = "";          // a note for each converted line; empty: none
};

// Returns the launcher with this name of a program or module; null: it is unknown.
const Launcher* FindLauncher(const std::string& name);

// Returns the options of mpirun. (horovodrun passes such options on to mpirun.)
const std::vector<Option>* MpiOptions();

}  // namespace muster::ctl
