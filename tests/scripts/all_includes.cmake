# kvbudget.hpp is everything: it reaches each header in FOLDER.
execute_process(COMMAND ${COMMAND} -MM -MG ${FOLDER}/kvbudget.hpp OUTPUT_VARIABLE included COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[ \\\n]+" ";" included "${included}")
file(GLOB_RECURSE headers ${FOLDER}/*.hpp)
list(REMOVE_ITEM headers ${included})
if(headers)
  list(JOIN headers "\n  " headers)
  message(FATAL_ERROR "kvbudget.hpp does not reach\n  ${headers}")
endif()
