# The core is what other headers pay for: at most 5,500 lines that are not blank, with the compiler the limit is for.
# A count is the same on every machine, a time is not.
execute_process(COMMAND ${COMPILER} -std=c++20 -E -P -I${INCLUDE} ${INCLUDE}/kvbudget/core.hpp
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[^\n]*[^ \t\n][^\n]*" "x" text "${text}")
string(REGEX REPLACE "[^x]" "" text "${text}")
string(LENGTH "${text}" lines)
message("core.hpp: ${lines} lines, at most 5500")
if(lines GREATER 5500)
  message(FATAL_ERROR "too many")
endif()
