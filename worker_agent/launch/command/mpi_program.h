// Finds out if a command is an MPI program, and of which family, by its libraries and by its words; likewise for its
// training programs (launchers.h).
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

enum class MpiFamily {
  kNone,
  kPmix,    // Open MPI
  kPmi1,    // MPICH and libraries with its ABI (Intel MPI, MVAPICH)
  kEither,  // Python with mpi4py, which may be built for either
};

// `path`: the PATH that the program is looked for in; null: none is set.
MpiFamily MpiFamilyOf(const std::vector<std::string>& command, const std::string* path);

// Returns the family by the library's file name.
MpiFamily FamilyOfLibrary(const std::string& library);

// Returns the libraries that an ELF file of 64 bits names (DT_NEEDED), at most 256; none for another file or a damaged
// one.
std::vector<std::string> NeededLibraries(const std::string& file);

}  // namespace muster::agent
