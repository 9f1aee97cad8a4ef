#include "worker_agent/gateway/torch_store/script_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ScriptPorts, WhatAScriptAssigns) {
  EXPECT_THAT(MasterPortsIn("import os\nos.environ['MASTER_PORT'] = '29501'\n"), ElementsAre(29501));
  EXPECT_THAT(MasterPortsIn("os.environ[\"MASTER_PORT\"]=str(29502)"), ElementsAre(29502));
  EXPECT_THAT(MasterPortsIn("MASTER_PORT = 29503  # the store's"), ElementsAre(29503));
  EXPECT_THAT(MasterPortsIn("MASTER_PORT=1\nMASTER_PORT=2\nMASTER_PORT=1"), ElementsAre(1, 2));
}

TEST(ScriptPorts, WhereAScriptSaysItByAnAddress) {
  EXPECT_THAT(MasterPortsIn("dist.init_process_group('gloo', init_method='tcp://127.0.0.1:23456', rank=r)"),
              ElementsAre(23456));
  EXPECT_THAT(MasterPortsIn("dist_url = f\"tcp://{addr}:23457?world_size=2\""), ElementsAre(23457));
  EXPECT_THAT(MasterPortsIn("init_method=f'tcp://{addr}:{port}'"), IsEmpty());
  EXPECT_THAT(MasterPortsIn("socket.bind('tcp://*:5555')"), IsEmpty());  // somebody else's
}

TEST(ScriptPorts, WhatIsNoAssignmentOfANumber) {
  for (const char* const text :
       {"port = os.environ['MASTER_PORT']", "if MASTER_PORT == 29500:", "# os.environ['MASTER_PORT'] = '29500'",
        "os.environ['MASTER_PORT'] = args.port", "MASTER_PORT = 0", "MASTER_PORT = 65536",
        "MASTER_PORT = 99999999999999999999", "MASTER_PORT", "MASTER_PORT =", ""}) {
    EXPECT_THAT(MasterPortsIn(text), IsEmpty()) << text;
  }
}

TEST(ScriptPorts, FourAtMost) {
  EXPECT_EQ(MasterPortsIn("MASTER_PORT=1\nMASTER_PORT=2\nMASTER_PORT=3\nMASTER_PORT=4\nMASTER_PORT=5").size(), 4U);
}

TEST(ScriptPorts, OfTheCommandsScript) {
  const std::string folder = testing::TempDir() + "/script_ports";
  std::filesystem::create_directories(folder);
  const std::string script = folder + "/train.py";
  std::ofstream(script) << "os.environ['MASTER_PORT'] = '29504'\n";
  EXPECT_THAT(MasterPortsOfCommand({"python3", "-u", script, "other.py"}), ElementsAre(29504));
  EXPECT_THAT(MasterPortsOfCommand({"python3", folder + "/missing.py"}), IsEmpty());
  EXPECT_THAT(MasterPortsOfCommand({"./a.out"}), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
