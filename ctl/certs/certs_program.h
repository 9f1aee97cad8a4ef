// `ms-ctl certs`: the certificates of a cluster.
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

// All that `ms-ctl certs` can be asked, in the order of --help, each with what carries it out.
const std::vector<CertsCommand>& CertsCommands();

// `args` of ms-ctl without the word "certs". Prints to stdout, errors to stderr. Returns the exit code: 0 done, 1
// refused or failed, 2 wrong usage.
int RunCerts(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment);

}  // namespace muster::certs
