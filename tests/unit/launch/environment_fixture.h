// The environment of a process, as a map.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/launch/sample_round.h"
#include "worker_agent/launch/environment/environment.h"

namespace muster::agent {

class EnvironmentTest : public ::testing::Test {
 protected:
  EnvironmentTest() {
    input.desired = &desired;
    input.slot = 1;
    input.job_id = "digits";
    input.node_id = "b-1";
    input.own_address = "10.0.0.2";
    input.scheduler_host = "node1";
    input.scheduler_port = 8118;
    input.cluster_file = "/w/cluster.json";
    input.start_secret = "f00d";
    input.progress_file = "/w/progress-1";
    input.stacks_file = "/w/stacks-1";
    input.error_file = "/w/error-1.json";
    input.max_restarts = 3;
  }

  std::map<std::string, std::string> Build() {
    environment = BuildEnvironment(input);
    std::map<std::string, std::string> map;
    for (const std::string& variable : environment.variables) {
      const size_t equals = variable.find('=');
      EXPECT_TRUE(map.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second) << variable;
    }
    return map;
  }

  v1::DesiredState desired = SampleState(1);
  EnvironmentInput input;
  Environment environment;
};

}  // namespace muster::agent
