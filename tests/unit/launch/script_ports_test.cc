#include "worker_agent/launch/command/script_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint16_t> Ports(const std::string& script) {
  const ScriptPorts found = PortsIn(script);
  EXPECT_FALSE(found.are_computed) << script;
  return found.ports;
}

TEST(ScriptPorts, WhatAScriptAssigns) {
  EXPECT_THAT(Ports("import os\nos.environ['MASTER_PORT'] = '29501'\n"), ElementsAre(29501));
  EXPECT_THAT(Ports("os.environ[\"MASTER_PORT\"]=str(29502)"), ElementsAre(29502));
  EXPECT_THAT(Ports("e['MASTER_PORT']='1'\ne['MASTER_PORT']='2'\ne['MASTER_PORT']='1'"), ElementsAre(1, 2));
}

TEST(ScriptPorts, WhereAScriptSaysItByAnAddress) {
  EXPECT_THAT(Ports("dist.init_process_group('gloo', init_method='tcp://127.0.0.1:23456', rank=r)"),
              ElementsAre(23456));
  EXPECT_THAT(Ports("dist_url = f\"tcp://{addr}:23457?world_size=2\""), ElementsAre(23457));
  EXPECT_THAT(Ports("socket.bind('tcp://*:5555')"), IsEmpty());  // of another library
}

TEST(ScriptPorts, WhatIsNoPort) {
  for (const char* const text :
       {"port = os.environ['MASTER_PORT']",
        "if os.environ['MASTER_PORT'] == '29500':", "# os.environ['MASTER_PORT'] = '29500'",
        "os.environ['MASTER_PORT'] = os.environ.get('PORT', '29500')", "os.environ['MASTER_PORT'] = '0'",
        "os.environ['MASTER_PORT'] = '65536'", "os.environ['MASTER_PORT'] = '99999999999999999999'",
        "os.environ.setdefault('MASTER_PORT', '29500')", "MASTER_PORT = 29503", "GRPC_MASTER_PORT = 50051",
        "os.environ['RAY_MASTER_PORT'] = '6379'", "MASTER_PORT", ""}) {
    EXPECT_THAT(Ports(text), IsEmpty()) << text;
  }
}

TEST(ScriptPorts, WhatIsComputed) {
  for (const char* const text :
       {"os.environ['MASTER_PORT'] = args.port", "os.environ['MASTER_PORT'] = str(find_free_port())",
        "dist.init_process_group(init_method=f'tcp://{addr}:{port}')", "init_method='tcp://' + address"}) {
    EXPECT_TRUE(PortsIn(text).are_computed) << text;
  }
}

TEST(ScriptPorts, FourAtMost) {
  std::string text;
  for (int i = 1; i <= 5; ++i) text += "e['MASTER_PORT']='" + std::to_string(i) + "'\n";
  EXPECT_EQ(Ports(text).size(), 4U);
}

TEST(ScriptPorts, OfTheCommandsScript) {
  const std::string folder = testing::TempDir() + "/script_ports";
  std::filesystem::create_directories(folder);
  const std::string script = folder + "/train.py";
  std::ofstream(script) << "os.environ['MASTER_PORT'] = '29504'\n";
  EXPECT_THAT(PortsOfScript({"python3", "-u", script, "other.py"}).ports, ElementsAre(29504));
  EXPECT_THAT(PortsOfScript({"python3", folder + "/missing.py"}).ports, IsEmpty());
  EXPECT_THAT(PortsOfScript({"./a.out"}).ports, IsEmpty());
}

}  // namespace
}  // namespace muster::agent
