// Describes a file that the kernel refuses to execute. "Head" means the first bytes of a file. Functions with a head as
// parameter are pure and accept any bytes.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

inline constexpr size_t kHeadBytes = 4096;

// Returns the first bytes of a file; empty if it can't be read. Does not block on a named pipe.
std::string ReadHead(const std::string& path);

// Returns the text after #! in the first line, without its line end; empty if there is none.
std::string InterpreterLine(std::string_view head);

// True if a shell would run the file as a script, because its first line is text. An empty file counts as text.
bool IsText(std::string_view head);

// Returns the loader that an ELF program names (PT_INTERP); empty: it names none, or the name is not in the head.
std::string LoaderOf(std::string_view head);

// Returns why the file can't be executed here: "it is a program for aarch64, and this machine is x86_64". `machine` is
// the machine's processor as uname names it.
std::string FormatInWords(std::string_view head, const std::string& machine);

// Returns the same for a file on this machine.
std::string FormatOfFile(const std::string& path);

}  // namespace muster::agent
