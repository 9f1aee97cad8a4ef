# Every library from Debian 12, with a message that names the package when one is missing.
# `bash deploy/install-deps.sh` installs them all.

find_package(Threads REQUIRED)

# muster_package(<CMake package> <Debian package>)
macro(muster_package name package)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} was not found. Install it with: apt-get install ${package}  (or run deploy/install-deps.sh)")
  endif()
endmacro()

function(muster_program variable program package)
  find_program(${variable} ${program})
  if(NOT ${variable})
    message(FATAL_ERROR "${program} was not found. Install it with: apt-get install ${package}  (or run deploy/install-deps.sh)")
  endif()
endfunction()

function(muster_header variable header package)
  find_path(${variable} ${header})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} was not found. Install it with: apt-get install ${package}  (or run deploy/install-deps.sh)")
  endif()
endfunction()

muster_package(absl libabsl-dev CONFIG)
muster_package(Protobuf libprotobuf-dev)
muster_package(gRPC libgrpc++-dev CONFIG)
muster_package(OpenSSL libssl-dev)
muster_package(SQLite3 libsqlite3-dev)
muster_package(spdlog libspdlog-dev CONFIG)
muster_header(NLOHMANN_JSON_INCLUDE nlohmann/json.hpp nlohmann-json3-dev)
muster_program(PROTOC protoc protobuf-compiler)
muster_program(GRPC_CPP_PLUGIN grpc_cpp_plugin protobuf-compiler-grpc)
if(MUSTER_TESTS)
  muster_package(GTest libgtest-dev)
endif()
