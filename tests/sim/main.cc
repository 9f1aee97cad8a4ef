// muster_sim: the simulation. A seed reproduces a run exactly.
//
//   muster_sim --seeds 2000 --seconds 240        at least so many seeds, and at least so long
//   muster_sim --seeds 50 --twice                each seed twice: both runs must be the same
//   muster_sim --seed 1234 --verbose             one seed, with its trace
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/actors/workers.h"
#include "tests/sim/parameters.h"
#include "tests/sim/world.h"

namespace muster::sim {
namespace {

struct Options {
  WorkersOptions workers;
  Limits limits;
  uint64_t only_seed = 0;
  bool is_verbose = false;
  bool runs_twice = false;
};

[[noreturn]] void Usage(const std::string& error) {
  std::fprintf(
      stderr,
      "muster_sim: %s\n"
      "usage: muster_sim [--seeds N] [--seconds S] [--at-most S] [--first-seed K] [--nodes-max M] [--jobs 1|2]\n"
      "                  [--workers N] [--keep-going] [--twice] | --seed X [--nodes-max M] [--jobs 1|2] [--verbose]\n",
      error.c_str());
  std::exit(2);
}

uint64_t Number(const char* name, const char* value) {
  uint64_t number = 0;
  if (value == nullptr || !absl::SimpleAtoi(value, &number)) Usage(absl::StrCat(name, " wants a number"));
  return number;
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--verbose") {
      options.is_verbose = true;
      continue;
    }
    if (name == "--twice") {
      options.runs_twice = true;
      continue;
    }
    if (name == "--keep-going") {
      options.workers.keeps_going = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    const uint64_t number = Number(name.c_str(), value);
    if (name == "--seeds") {
      options.workers.seeds = number;
    } else if (name == "--seconds") {
      options.workers.time = absl::Seconds(number);
    } else if (name == "--at-most") {
      options.workers.most = absl::Seconds(number);
    } else if (name == "--first-seed") {
      options.workers.first_seed = number;
    } else if (name == "--workers") {
      options.workers.workers = static_cast<int>(number);
    } else if (name == "--nodes-max" && number >= 3) {
      options.limits.nodes_max = static_cast<int>(number);
    } else if (name == "--jobs" && (number == 1 || number == 2)) {
      options.limits.jobs_max = static_cast<int>(number);
    } else if (name == "--seed") {
      options.only_seed = number;
    } else {
      Usage(absl::StrCat("what is ", name, " ", value, "?"));
    }
  }
  return options;
}

SeedResult RunSeed(uint64_t seed, const Options& options, bool is_verbose) {
  const Parameters parameters = DrawParameters(seed, options.limits);
  World world(parameters, is_verbose);
  world.Run();
  SeedResult result{world.steps(), world.violation()};
  if (!options.runs_twice) return result;
  World again(parameters, false);
  again.Run();
  if (again.digest() != world.digest() && result.violation.empty()) {
    result.violation = "the second run of this seed went another way: something depends on more than events and times";
  }
  return result;
}

std::string Reproduce(const char* program, uint64_t seed, const Limits& limits) {
  return absl::StrCat(program, " --seed ", seed, " --nodes-max ", limits.nodes_max, " --jobs ", limits.jobs_max,
                      " --verbose");
}

int RunOne(const Options& options) {
  const SeedResult result = RunSeed(options.only_seed, options, options.is_verbose);
  std::printf("seed %llu: %llu steps, %s\n", static_cast<unsigned long long>(options.only_seed),
              static_cast<unsigned long long>(result.steps),
              result.violation.empty() ? "no violation" : result.violation.c_str());
  return result.violation.empty() ? 0 : 1;
}

int RunMany(const Options& options, const char* program) {
  const Totals totals = RunSeeds(
      options.workers, [&](uint64_t seed) { return RunSeed(seed, options, false); },
      [&](uint64_t seed, const std::string& what) {
        std::printf("VIOLATION in seed %llu: %s\n  reproduce: %s\n", static_cast<unsigned long long>(seed),
                    what.c_str(), Reproduce(program, seed, options.limits).c_str());
        std::fflush(stdout);
      });
  const double seconds = std::max(absl::ToDoubleSeconds(totals.took), 1e-9);
  std::printf("%llu runs, %llu steps in %.1f s: %.0f steps per second, %.1f runs per second; %llu violations\n",
              static_cast<unsigned long long>(totals.runs), static_cast<unsigned long long>(totals.steps), seconds,
              static_cast<double>(totals.steps) / seconds, static_cast<double>(totals.runs) / seconds,
              static_cast<unsigned long long>(totals.violations));
  return totals.violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster::sim

int main(int argc, char** argv) {
  const muster::sim::Options options = muster::sim::Parse(argc, argv);
  return options.only_seed != 0 ? muster::sim::RunOne(options) : muster::sim::RunMany(options, argv[0]);
}
