#include "worker_agent/node/python_folder.h"

#include <filesystem>
#include <system_error>

namespace muster::agent {

std::string PythonFolder(const std::string& program) {
  const std::filesystem::path folder =
      (std::filesystem::path(program).parent_path() / "../lib/muster/python").lexically_normal();
  std::error_code ignored;
  const bool is_there = std::filesystem::is_regular_file(folder / "muster_training.py", ignored);
  return is_there && folder.is_absolute() ? folder.string() : "";
}

}  // namespace muster::agent
