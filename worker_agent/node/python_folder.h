// Where muster_training.py stands, which training scripts may import.
#pragma once

#include <string>

namespace muster::agent {

// ../lib/muster/python from the folder of `program`, in a build as in an installation; empty when the module isn't
// there. Nothing else may stand in that folder: it goes into every training process's PYTHONPATH.
std::string PythonFolder(const std::string& program);

}  // namespace muster::agent
