// The text of FormatInWords:
//
//   the file's first bytes                the text says
//   none                                  that the file can't be read
//   ELF, for another processor            both processors
//   ELF, no program                       that it is an object file or a core file
//   ELF, for this processor               damaged, or for a mode that the kernel lacks (32 bits, another page size)
//   MZ, or Mach-O                         that it is a program for Windows, or for macOS
//   anything else                         that it is neither a program nor a script
#include "worker_agent/launch_error/program_format.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr size_t kFirstLineBytes = 256;  // the kernel reads at most so much of a first line
constexpr size_t kLookedAt = 80;         // a shell decides by so many bytes whether a file is text
constexpr size_t kMaxHeaders = 64;

// Processors that an old <elf.h> does not define are given by their number.
struct Processor {
  uint16_t number;
  const char* name;  // as uname names it
};
constexpr std::array kProcessors = std::to_array<Processor>({
    {EM_386, "i386"},
    {EM_X86_64, "x86_64"},
    {EM_ARM, "arm"},
    {EM_AARCH64, "aarch64"},
    {EM_PPC, "ppc"},
    {EM_PPC64, "ppc64"},
    {EM_S390, "s390x"},
    {EM_RISCV, "riscv64"},
    {258, "loongarch64"},
    {EM_MIPS, "mips"},
    {EM_SPARC, "sparc"},
    {EM_SPARCV9, "sparc64"},
    {EM_IA_64, "ia64"},
    {EM_BPF, "BPF"},
    {EM_CUDA, "NVIDIA GPUs"},
    {EM_AMDGPU, "AMD GPUs"},
});

// Reads the fields of an ELF header, for both word sizes and byte orders. nullopt: the field is not in the head.
class Elf {
 public:
  explicit Elf(std::string_view head) : head_(head) {}
  bool IsElf() const { return head_.size() > EI_DATA && head_.starts_with(ELFMAG); }
  bool is_64() const { return head_[EI_CLASS] == ELFCLASS64; }
  bool is_big_endian() const { return head_[EI_DATA] == ELFDATA2MSB; }
  std::optional<uint64_t> Type() const { return Read(16, 2); }
  std::optional<uint64_t> Machine() const { return Read(18, 2); }
  std::string Loader() const;

 private:
  std::optional<uint64_t> Read(uint64_t at, size_t size) const {
    if (at > head_.size() || head_.size() - at < size) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t from = at + (is_big_endian() ? i : size - 1 - i);
      value = value << 8 | static_cast<unsigned char>(head_[from]);
    }
    return value;
  }
  std::optional<uint64_t> Word(uint64_t at) const { return Read(at, is_64() ? 8 : 4); }

  std::string_view head_;
};

std::string Elf::Loader() const {
  const auto table = Word(is_64() ? 32 : 28);
  const auto size = Read(is_64() ? 54 : 42, 2);
  const auto count = Read(is_64() ? 56 : 44, 2);
  if (!table || !size || !count || *table > head_.size()) return "";
  for (uint64_t i = 0; i < std::min<uint64_t>(*count, kMaxHeaders); ++i) {
    const uint64_t header = *table + i * *size;
    const auto type = Read(header, 4);
    const auto offset = Word(header + (is_64() ? 8 : 4));
    if (!type || !offset) return "";
    if (*type != PT_INTERP || *offset >= head_.size()) continue;
    const std::string_view rest = head_.substr(*offset);
    const size_t end = rest.find('\0');
    return end == std::string_view::npos ? "" : std::string(rest.substr(0, end));
  }
  return "";
}

std::string NameOf(uint64_t machine, const Elf& elf) {
  for (const Processor& one : kProcessors) {
    if (one.number != machine) continue;
    if (machine == EM_PPC64 && !elf.is_big_endian()) return "ppc64le";
    if (machine == EM_RISCV && !elf.is_64()) return "riscv32";
    if (machine == EM_AARCH64 && elf.is_big_endian()) return "aarch64_be";
    return one.name;
  }
  return absl::StrCat("processor number ", machine, " of ELF");
}

bool IsSameProcessor(const std::string& name, const std::string& machine) {
  if (name == machine) return true;
  if (name == "i386") return machine.size() == 4 && machine[0] == 'i' && absl::EndsWith(machine, "86");
  if (name == "arm") return absl::StartsWith(machine, "arm") && machine != "arm64";
  return (name == "aarch64" && machine == "arm64") || (name == "mips" && absl::StartsWith(machine, "mips"));
}

std::string ElfInWords(const Elf& elf, const std::string& machine) {
  const auto number = elf.Machine();
  if (!number) return "it is a program that was cut short";
  const std::string name = NameOf(*number, elf);
  if (!IsSameProcessor(name, machine)) {
    return absl::StrCat("it is a program for ", name, ", and this machine is ", machine);
  }
  switch (elf.Type().value_or(ET_NONE)) {
    case ET_REL:
      return "it is an object file that was not linked to a program";
    case ET_CORE:
      return "it is a core file of a program that crashed";
    case ET_EXEC:
    case ET_DYN:
      return absl::StrCat("it is a program for ", name,
                          ", like this machine, but it is damaged, cut short, or for a mode that "
                          "the kernel does not have (32 bits, another page size)");
    default:
      return "it is a damaged program";
  }
}

bool IsMachO(std::string_view head) {
  constexpr std::array<std::string_view, 5> kMagics = {"\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe",
                                                       "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"};
  return std::any_of(kMagics.begin(), kMagics.end(), [&](std::string_view magic) { return head.starts_with(magic); });
}

}  // namespace

std::string ReadHead(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return "";
  std::string head(kHeadBytes, '\0');
  const ssize_t length = read(file.get(), head.data(), head.size());
  head.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return head;
}

std::string InterpreterLine(std::string_view head) {
  if (!head.starts_with("#!")) return "";
  const size_t end = head.substr(0, kFirstLineBytes).find('\n');
  return end == std::string_view::npos ? "" : std::string(head.substr(2, end - 2));
}

bool IsText(std::string_view head) {
  if (head.starts_with(ELFMAG)) return false;
  const std::string_view line = head.substr(0, std::min(head.find('\n'), kLookedAt));
  return line.find('\0') == std::string_view::npos;
}

std::string LoaderOf(std::string_view head) {
  const Elf elf(head);
  return elf.IsElf() ? elf.Loader() : "";
}

std::string FormatInWords(std::string_view head, const std::string& machine) {
  if (head.empty()) return "its content can't be read";
  const Elf elf(head);
  if (elf.IsElf()) return ElfInWords(elf, machine);
  if (head.starts_with("MZ")) return "it is a program for Windows";
  if (IsMachO(head)) return "it is a program for macOS";
  return "it is neither a program nor a script";
}

std::string FormatOfFile(const std::string& path) {
  utsname system{};
  uname(&system);
  return FormatInWords(ReadHead(path), system.machine);
}

}  // namespace muster::agent
