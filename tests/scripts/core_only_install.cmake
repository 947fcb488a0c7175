# An install of the core alone holds every header that its headers include: a file with all of them compiles against it.
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${FOLDER}/build -DCMAKE_CXX_COMPILER=${COMPILER}
  -DKVBUDGET_CORE_ONLY=ON -DKVBUDGET_BUILD_PROGRAMS=OFF -DKVBUDGET_BUILD_TESTS=OFF -DKVBUDGET_INSTALL=ON
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${FOLDER}/build --prefix ${FOLDER}/prefix
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE headers RELATIVE ${FOLDER}/prefix/include ${FOLDER}/prefix/include/*.hpp)
if(NOT EXISTS ${FOLDER}/prefix/include/kvbudget/core.hpp)
  message(FATAL_ERROR "core.hpp is not installed")
endif()
list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
list(JOIN headers "" text)
file(WRITE ${FOLDER}/all.cpp "${text}")
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${FOLDER}/prefix/include ${FOLDER}/all.cpp
  COMMAND_ERROR_IS_FATAL ANY)
