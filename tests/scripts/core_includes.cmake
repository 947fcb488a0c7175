# The core includes no library and none of the standard headers that cost more than the core itself.
execute_process(COMMAND ${COMMAND} -M ${HEADER} OUTPUT_VARIABLE included COMMAND_ERROR_IS_FATAL ANY)
foreach(header IN ITEMS "nlohmann/[^ ]*" "fmt/[^ ]*" string stdexcept variant vector)
  if(included MATCHES "[^ ]*/${header}[ \n]")
    message(FATAL_ERROR "core.hpp includes ${CMAKE_MATCH_0}")
  endif()
endforeach()
