# CMake's toolchain file for Linux on aarch64, the processor of Ascend's hosts, with Debian's cross compiler:
#
#   bash deploy/install-deps.sh --cross
#   bash deploy/cross/sysroot.sh arm64 build-aarch64/sysroot
#   cmake --preset aarch64 && cmake --build --preset aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(MUSTER_SYSROOT ${CMAKE_BINARY_DIR}/sysroot CACHE PATH "The processor's libraries, from deploy/cross/sysroot.sh")
set(MUSTER_EMULATOR qemu-aarch64-static CACHE STRING "Runs a program of that processor here")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MUSTER_SYSROOT)
set(CMAKE_SYSROOT ${MUSTER_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR ${MUSTER_EMULATOR} -L ${MUSTER_SYSROOT})
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MUSTER_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${MUSTER_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)  # protoc and its plugin run here
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Link the sysroot's C library, not the cross compiler's: only the former gets security updates.
set(CMAKE_EXE_LINKER_FLAGS_INIT -B${MUSTER_SYSROOT}/usr/lib/aarch64-linux-gnu)
