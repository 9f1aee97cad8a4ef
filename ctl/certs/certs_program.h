// `ms-ctl certs`: makes and manages the certificates of a cluster.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::certs {

struct CertsCall;

struct CertsCommand {
  std::string name;
  std::string argument;  // "NAME|SERIAL…"; empty: none
  bool needs_argument = false;
  std::string help;
  int (*run)(const CertsCall& call);  // returns the exit code
};

// All commands of `ms-ctl certs` with their handlers, in the order of --help.
const std::vector<CertsCommand>& CertsCommands();

// Runs a command of `ms-ctl certs`. `args`: the arguments of ms-ctl without the word "certs". Prints to stdout, and
// errors to stderr. Returns the exit code: 0 done, 1 refused or failed, 2 wrong usage.
int RunCerts(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment);

}  // namespace muster::certs
