# Where the other libraries come from: an installed package if there is one, else its source.
# FETCHCONTENT_SOURCE_DIR_<NAME> gives a source that is on this machine.
include(FetchContent)

FetchContent_Declare(fmt
  GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 10.2.1 GIT_SHALLOW ON SYSTEM
  FIND_PACKAGE_ARGS 9)
FetchContent_Declare(nlohmann_json
  GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.3 GIT_SHALLOW ON SYSTEM
  FIND_PACKAGE_ARGS 3.11)
FetchContent_Declare(CLI11
  GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.4.2 GIT_SHALLOW ON SYSTEM
  FIND_PACKAGE_ARGS 2.1)
# 2 or 3, whichever is installed: no range of versions covers both.
FetchContent_Declare(Catch2
  GIT_REPOSITORY https://github.com/catchorg/Catch2.git GIT_TAG v3.7.1 GIT_SHALLOW ON SYSTEM
  FIND_PACKAGE_ARGS)
FetchContent_Declare(benchmark
  GIT_REPOSITORY https://github.com/google/benchmark.git GIT_TAG v1.8.5 GIT_SHALLOW ON SYSTEM
  FIND_PACKAGE_ARGS 1.7)

# A function, so that these settings end with it.
function(kvbudget_provide)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # the settings below hold in projects that ask for an older CMake, too
  set(CMAKE_VERIFY_INTERFACE_HEADER_SETS OFF)
  # An exported target may only name targets that are exported themselves.
  set(FMT_INSTALL ${KVBUDGET_INSTALL})
  set(JSON_Install ${KVBUDGET_INSTALL})
  set(JSON_BuildTests OFF)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  FetchContent_MakeAvailable(${ARGN})
endfunction()
