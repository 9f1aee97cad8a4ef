// The options of other launchers and their meaning here: a table that launcher_options.cc reads.
#pragma once

#include <string>
#include <vector>

namespace muster::ctl {

enum class Meaning {
  kProcesses,      // of the whole job
  kPerNode,        // processes of a node; also torchrun's words
  kNodes,          // how many
  kNodeRank,       //
  kHost,           // of the first node; a port after it is left out
  kPort,           // of MindSpore's scheduler, which is ours
  kHosts,          // a:4,b:4
  kHostFile,       // the same in a file
  kFlag,           // `text` with the value
  kSwitch,         // `text` alone
  kRestarts,       // --enable_recovery --max_restarts N
  kStandalone,     //
  kModule,         // what follows is a module
  kAsTyped,        // what follows is not a Python script
  kEnv,            // NAME=VALUE or NAME
  kEnvPair,        // two values: NAME VALUE
  kMca,            // two values: Open MPI's parameter
  kMpiArgs,        // horovodrun's options for mpirun, in one word
  kVariable,       // the variable `text` with the value
  kSetVariable,    // `text` is NAME=VALUE
  kStreams,        // torchrun's 0, 1, 2, 3 or a list by local rank: `text` is redirects or tee
  kJoin,           // msrun's True or False
  kPlacement,      // --map-by
  kByNode,         // processes go round the hosts
  kDrop,           // not needed here
  kNoCounterpart,  // left out; `text` says what to do instead
  kRefused,        // the line can't be converted; `text` says what to write
  kDevices,        // deepspeed's localhost:0,1
  kNoArgument,     // torch.distributed.launch --use_env: the script gets no --local_rank
};

struct Option {
  std::vector<const char*> names;  // with underscores, without dashes; fsdp_*: all that begin with fsdp_
  Meaning meaning;
  int values;  // the number that follow, unless there is a "="
  const char* text = "";
};

struct Launcher {
  const char* name;  // as messages show it
  // Matched with the last part of the first word or of what Python runs; "accelerate launch": with the next word, too.
  std::vector<const char*> programs;
  const std::vector<Option>* options;
  bool abbreviates = false;       // options may be abbreviated, as in Python's argparse
  bool starts_python = false;     // the command is a script unless an option says otherwise
  bool gives_local_rank = false;  // as an argument
  const char* processes = "";     // the default: torchrun's 1, msrun's 8, auto
  const char* asks = "";          // the option with the number of processes
  const char* note = "";          // a hint for each line
};

// Finds a launcher by a program's name or a module's; null: unknown.
const Launcher* FindLauncher(const std::string& name);

// Returns mpirun's options, which horovodrun passes on.
const std::vector<Option>* MpiOptions();

}  // namespace muster::ctl
