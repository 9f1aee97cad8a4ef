// Environments of platforms: files of NAME=VALUE lines, with comments.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "worker_agent/platform/platform.h"

namespace muster::agent {

inline Variables RecordedEnvironment(const std::string& name) {
  std::ifstream file(std::string(MUSTER_ENVIRONMENTS) + "/" + name + ".env");
  EXPECT_TRUE(file.is_open()) << name;
  Variables environment;
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    if (line.rfind("#", 0) != 0 && equals != std::string::npos) {
      environment[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  return environment;
}

}  // namespace muster::agent
