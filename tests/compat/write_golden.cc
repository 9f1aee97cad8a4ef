// Writes what this version says, once, when it is released: write_golden FOLDER. See README.md.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/compat/golden_bytes.h"
#include "tests/golden/player.h"

namespace fs = std::filesystem;

namespace muster::compat {
namespace {

// What the core has written by the end of a golden script, and what it knew then.
std::vector<Golden> JournalOf(const fs::path& script) {
  golden::Player player;
  std::ifstream file(script);
  std::string line;
  std::string error;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line[0] == ' ') continue;
    player.Do(golden::Command::Parse(line, error));
  }
  std::vector<Golden> journal;
  for (const v1::Record& record : player.records()) {
    journal.push_back({"record", record.SerializeAsString(), ""});
  }
  const v1::Record snapshot = player.TakeSnapshot();
  journal.push_back({"snapshot", snapshot.SerializeAsString(), ""});
  return journal;
}

int Main(const fs::path& folder) {
  fs::create_directories(folder / "journals");
  std::ofstream(folder / "schema.binpb", std::ios::binary) << Schema();
  WriteGolden(folder / "messages.txt", AllMessages());
  WriteGolden(folder / "datagrams.txt", AllDatagrams());
  WriteGolden(folder / "farewell.txt", FarewellWords());
  for (const auto& entry : fs::recursive_directory_iterator(MUSTER_GOLDEN_SCRIPTS)) {
    if (!entry.is_regular_file()) continue;
    WriteGolden(folder / "journals" / entry.path().filename(), JournalOf(entry.path()));
  }
  return 0;
}

}  // namespace
}  // namespace muster::compat

int main(int argc, char** argv) {
  if (argc == 2) return muster::compat::Main(argv[1]);
  std::fprintf(stderr, "usage: write_golden FOLDER\n");
  return 2;
}
