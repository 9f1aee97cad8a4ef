// The program                                          its family
//
// needs libmpi.so.40 or later, libmpi_*.so.40          kPmix (Open MPI)
// needs libmpich*, libmpi.so.12, libmpifort.so.12      kPmi1 (MPICH)
// python with mpi4py: a word of the command, or        kEither
//   imported by the script (python_module.h)
// env, uv run, bash -c, a shell script, …              that of the first program behind it that has a family
// mpirun and other launchers                           kNone: they start the ranks themselves
#include "worker_agent/launch/command/mpi_program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/unique_fd.h"
#include "worker_agent/launch/command/launchers.h"
#include "worker_agent/launch/command/python_module.h"
#include "worker_agent/launch_error/execute.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxHeaders = 512;
constexpr size_t kMaxDynamic = 4096;
constexpr size_t kMaxNeeded = 256;
constexpr size_t kMaxNameBytes = 256;
constexpr uint32_t kFirstOfOpenMpi = 40;

// Reads parts of a file. A part that is not wholly inside the file is empty.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    struct stat info {};
    fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd_.is_open() && (::fstat(fd_.get(), &info) != 0 || !S_ISREG(info.st_mode))) fd_.reset();
  }

  template <typename T>
  bool Read(uint64_t at, T* things, size_t count) const {
    const size_t bytes = count * sizeof(T);
    return fd_.is_open() && ::pread(fd_.get(), things, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }

  std::string TextAt(uint64_t at) const {
    char text[kMaxNameBytes] = {};
    const ssize_t size = fd_.is_open() ? ::pread(fd_.get(), text, sizeof text - 1, static_cast<off_t>(at)) : -1;
    return size > 0 ? std::string(text) : "";
  }

 private:
  UniqueFd fd_;
};

std::optional<uint64_t> OffsetOf(uint64_t address, const std::vector<Elf64_Phdr>& headers) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz) {
      return header.p_offset + (address - header.p_vaddr);
    }
  }
  return std::nullopt;
}

// Returns the file that execvp would find for the program; empty: there is none.
std::string PathOf(const std::string& program, const std::string* path) {
  if (absl::StrContains(program, '/')) return program;
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? kDefaultPath : path->c_str(), ':')) {
    std::string candidate = absl::StrCat(folder.empty() ? "." : folder, "/", program);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace

MpiFamily FamilyOfLibrary(const std::string& library) {
  if (absl::StartsWith(library, "libmpich") || absl::StartsWith(library, "libmpi.so.12") ||
      absl::StartsWith(library, "libmpifort.so.12") || absl::StartsWith(library, "libmpicxx.so.12")) {
    return MpiFamily::kPmi1;
  }
  const size_t version_at = library.find(".so.");
  uint32_t version = 0;
  const bool is_open_mpi = absl::StartsWith(library, "libmpi") && version_at != std::string::npos &&
                           absl::SimpleAtoi(library.substr(version_at + 4, 2), &version) && version >= kFirstOfOpenMpi;
  return is_open_mpi ? MpiFamily::kPmix : MpiFamily::kNone;
}

std::vector<std::string> NeededLibraries(const std::string& file) {
  const ElfFile elf(file);
  Elf64_Ehdr start{};
  if (!elf.Read(0, &start, 1) || std::memcmp(start.e_ident, ELFMAG, SELFMAG) != 0 ||
      start.e_ident[EI_CLASS] != ELFCLASS64 || start.e_phentsize != sizeof(Elf64_Phdr) || start.e_phnum > kMaxHeaders) {
    return {};
  }
  std::vector<Elf64_Phdr> headers(start.e_phnum);
  if (!elf.Read(start.e_phoff, headers.data(), headers.size())) return {};
  const auto dynamic_at = std::find_if(headers.begin(), headers.end(),
                                       [](const Elf64_Phdr& header) { return header.p_type == PT_DYNAMIC; });
  if (dynamic_at == headers.end()) return {};
  std::vector<Elf64_Dyn> dynamic(std::min<uint64_t>(dynamic_at->p_filesz / sizeof(Elf64_Dyn), kMaxDynamic));
  if (!elf.Read(dynamic_at->p_offset, dynamic.data(), dynamic.size())) return {};
  std::optional<uint64_t> names;
  for (const Elf64_Dyn& entry : dynamic) {
    if (entry.d_tag == DT_STRTAB) names = OffsetOf(entry.d_un.d_ptr, headers);
  }
  std::vector<std::string> needed;
  if (!names) return needed;
  for (const Elf64_Dyn& entry : dynamic) {
    if (entry.d_tag == DT_NULL || needed.size() == kMaxNeeded) break;
    if (entry.d_tag == DT_NEEDED) needed.push_back(elf.TextAt(*names + entry.d_un.d_val));
  }
  return needed;
}

MpiFamily MpiFamilyOf(const std::vector<std::string>& command, const std::string* path) {
  for (const std::vector<std::string>& program : TrainingPrograms(command)) {
    if (RunsPython(program)) {
      if (NamesPythonModule(program, "mpi4py")) return MpiFamily::kEither;
      continue;
    }
    for (const std::string& library : NeededLibraries(PathOf(program[0], path))) {
      const MpiFamily family = FamilyOfLibrary(library);
      if (family != MpiFamily::kNone) return family;
    }
  }
  return MpiFamily::kNone;
}

}  // namespace muster::agent
