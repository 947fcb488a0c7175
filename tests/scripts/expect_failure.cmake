# Compiles SOURCE with the COMMAND and the macro CASE: the compiler must refuse it and say DIAGNOSTIC, a regular
# expression. Without CASE every good twin in the file must compile.
if(CASE)
  list(APPEND COMMAND -D${CASE})
endif()
execute_process(COMMAND ${COMMAND} -fsyntax-only ${SOURCE}
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
if(NOT CASE AND NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: a good twin does not compile:\n${output}")
elseif(CASE AND status EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: ${CASE} compiles")
elseif(CASE AND NOT output MATCHES "${DIAGNOSTIC}")
  message(FATAL_ERROR "${SOURCE}: ${CASE} fails without saying '${DIAGNOSTIC}':\n${output}")
endif()
