// Finds out whether a command is an MPI program, and which family of MPI libraries it uses. The libraries that the
// program links and the command's words show it.
#pragma once

#include <string>
#include <vector>

namespace muster::agent {

enum class MpiFamily {
  kNone,
  kPmix,    // Open MPI
  kPmi1,    // MPICH and libraries with its ABI (Intel MPI, MVAPICH)
  kEither,  // Python with mpi4py, which may be built for any of them
};

// Returns the family of the command's training programs (TrainingPrograms in launchers.h). `path`: the PATH in which
// they are found; null: it is not set.
MpiFamily MpiFamilyOf(const std::vector<std::string>& command, const std::string* path);

// Returns the family that a library belongs to, by its file name.
MpiFamily FamilyOfLibrary(const std::string& library);

// Returns the libraries that a 64-bit ELF file needs (DT_NEEDED), at most 256. Empty if the file is of another kind, or
// damaged.
std::vector<std::string> NeededLibraries(const std::string& file);

}  // namespace muster::agent
