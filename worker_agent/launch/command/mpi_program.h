// Whether a command is an MPI program, and of which family, by what it is linked with and by its words; so are its
// training programs (launchers.h).
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

enum class MpiFamily {
  kNone,
  kPmix,    // Open MPI
  kPmi1,    // MPICH and what has its ABI (Intel MPI, MVAPICH)
  kEither,  // Python with mpi4py, which may be built for either
};

// `path`: the PATH that the program is looked for in; null: none is set.
MpiFamily MpiFamilyOf(const std::vector<std::string>& command, const std::string* path);

// By its file's name.
MpiFamily FamilyOfLibrary(const std::string& library);

// The libraries that an ELF file of 64 bits names (DT_NEEDED), at most 256; none where it is something else or damaged.
std::vector<std::string> NeededLibraries(const std::string& file);

}  // namespace muster::agent
