// `ms-ctl certs`: the certificates of a cluster.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::certs {

// `args` of ms-ctl without the word "certs". Prints to stdout, errors to stderr. Returns the exit code: 0 done, 1
// refused or failed, 2 wrong usage.
int RunCerts(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment);

}  // namespace muster::certs
