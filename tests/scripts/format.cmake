# Fails where clang-format would lay a file out otherwise.
#   cmake -D CLANG_FORMAT=PROGRAM -D SOURCE=FOLDER -P format.cmake
file(GLOB_RECURSE files ${SOURCE}/include/*.hpp ${SOURCE}/examples/*.?pp ${SOURCE}/tests/*.?pp)
list(LENGTH files count)
if(count LESS 50)
  message(FATAL_ERROR "only ${count} files were found below ${SOURCE}")
endif()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror ${files} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "run ${CLANG_FORMAT} -i over these files")
endif()
