# Finds all libraries in Debian 12. If one is missing, a message names its package.
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
muster_header(BOOST_BEAST_INCLUDE boost/beast/http/parser.hpp libboost-dev)
muster_header(NLOHMANN_JSON_INCLUDE nlohmann/json.hpp nlohmann-json3-dev)
muster_program(PROTOC protoc protobuf-compiler)
muster_program(GRPC_CPP_PLUGIN grpc_cpp_plugin protobuf-compiler-grpc)
if(MUSTER_TESTS)
  muster_package(GTest libgtest-dev)
endif()

# gRPC, protobuf and Abseil are 50 shared libraries: loading and relocating them is a third of ms-worker's start and a
# quarter of its memory. So they are linked into the programs. The libraries below them that read the network (OpenSSL,
# c-ares, zlib) stay shared, for their security updates.
if(MUSTER_SANITIZE OR MUSTER_COVERAGE OR MUSTER_FUZZ)
  option(MUSTER_STATIC_GRPC "Link gRPC, protobuf and Abseil into the programs" OFF)
else()
  option(MUSTER_STATIC_GRPC "Link gRPC, protobuf and Abseil into the programs" ON)
endif()

# Makes an imported target use its archive, if there is one beside the shared library.
function(muster_prefer_archive target)
  foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELEASE)
    get_target_property(location ${target} ${property})
    if(NOT location)
      continue()
    endif()
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${location}")
    if(EXISTS "${archive}")
      set_target_properties(${target} PROPERTIES ${property} "${archive}")
    endif()
  endforeach()
endfunction()

if(MUSTER_STATIC_GRPC)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${imported})
    if(target MATCHES "^(absl|gRPC|protobuf)::")
      muster_prefer_archive(${target})
    endif()
  endforeach()
endif()
