#include "worker_agent/launch_error/program_format.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cstring>

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

std::string Header(uint16_t machine, uint16_t type = ET_DYN, bool is_64 = true, bool is_big = false) {
  std::string head(64, '\0');
  head.replace(0, 4, ELFMAG);
  head[EI_CLASS] = is_64 ? ELFCLASS64 : ELFCLASS32;
  head[EI_DATA] = is_big ? ELFDATA2MSB : ELFDATA2LSB;
  const auto put = [&](size_t at, uint16_t value) {
    head[at + (is_big ? 1 : 0)] = static_cast<char>(value & 0xff);
    head[at + (is_big ? 0 : 1)] = static_cast<char>(value >> 8);
  };
  put(16, type);
  put(18, machine);
  return head;
}

TEST(FormatInWords, EachRow) {
  struct {
    std::string head;
    const char* words;
  } const kCases[] = {
      {"", "can't be read"},
      {Header(EM_AARCH64), "it is a program for aarch64, and this machine is x86_64"},
      {Header(EM_ARM, ET_EXEC, false), "it is a program for arm, and this machine is x86_64"},
      {Header(EM_386, ET_EXEC, false), "it is a program for i386, and this machine is x86_64"},
      {Header(EM_PPC64), "for ppc64le,"},
      {Header(EM_PPC64, ET_EXEC, true, true), "for ppc64,"},
      {Header(EM_S390, ET_EXEC, true, true), "for s390x,"},
      {Header(EM_RISCV), "for riscv64,"},
      {Header(EM_RISCV, ET_EXEC, false), "for riscv32,"},
      {Header(258), "for loongarch64,"},
      {Header(EM_CUDA), "for NVIDIA GPUs,"},
      {Header(4711), "processor number 4711"},
      {Header(EM_X86_64, ET_REL), "not linked"},
      {Header(EM_X86_64, ET_CORE), "core file"},
      {Header(EM_X86_64, ET_EXEC), "damaged"},
      {Header(EM_X86_64, 0xfe00), "damaged"},
      {Header(EM_X86_64).substr(0, 18), "cut short"},
      {std::string("MZ\x90\0\x03", 5), "Windows"},
      {"\xcf\xfa\xed\xfe", "macOS"},
      {std::string("PK\x03\x04\0", 5), "neither a program nor a script"},
  };
  for (const auto& one : kCases) EXPECT_THAT(FormatInWords(one.head, "x86_64"), HasSubstr(one.words));
  EXPECT_THAT(FormatInWords(Header(EM_386, ET_EXEC, false), "i686"), HasSubstr("damaged")) << "its own processor";
  EXPECT_THAT(FormatInWords(Header(EM_X86_64), "aarch64"), HasSubstr("for x86_64, and this machine is aarch64"));
}

TEST(IsText, AsAShellJudges) {
  EXPECT_TRUE(IsText(""));
  EXPECT_TRUE(IsText("echo hello\n"));
  EXPECT_TRUE(IsText(std::string("exec java -jar \"$0\"\nPK\x03\x04\0\0", 26)))
      << "what follows the first line may be anything";
  EXPECT_TRUE(IsText("\xef\xbb\xbf#!/bin/sh\n"));
  EXPECT_FALSE(IsText(Header(EM_X86_64)));
  EXPECT_FALSE(IsText(std::string("ab\0c\n", 5)));
}

TEST(InterpreterLine, IsWhatStandsBehindTheSigns) {
  EXPECT_EQ(InterpreterLine("#!/bin/sh -e\necho\n"), "/bin/sh -e");
  EXPECT_EQ(InterpreterLine("#! /bin/sh\n"), " /bin/sh");
  EXPECT_EQ(InterpreterLine("echo\n"), "");
  EXPECT_EQ(InterpreterLine("#!/bin/sh"), "");
  EXPECT_EQ(InterpreterLine("#!/" + std::string(300, 'x') + "\n"), "") << "the kernel reads no further";
}

TEST(LoaderOf, OwnProgramAndDamagedOnes) {
  const std::string own = ReadHead("/proc/self/exe");
  ASSERT_EQ(own.size(), kHeadBytes);
  EXPECT_EQ(LoaderOf(Header(EM_X86_64)), "");
  EXPECT_EQ(LoaderOf("#!/bin/sh\n"), "");
  const std::string shell = ReadHead("/bin/sh");
  EXPECT_THAT(LoaderOf(shell), HasSubstr("/ld"));
  for (size_t size = 0; size < 200; ++size) LoaderOf(shell.substr(0, size));  // the sanitizers check every read
  std::string wild = shell;
  std::memset(&wild[32], 0xff, 32);  // the table's place and length
  EXPECT_EQ(LoaderOf(wild), "");
}

}  // namespace
}  // namespace muster::agent
