# kvbudget-verify must find what is wrong: a figure that is not the engine's, an option that does not exist.
# VERIFY is the program, DATA a folder with cases of transformers, SCRATCH a folder to write to.

function(expect status last_line)
  execute_process(COMMAND ${VERIFY} ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE actual)
  if(NOT actual STREQUAL status)
    message(SEND_ERROR "${ARGN}: exit status ${actual} instead of ${status}:\n${output}")
  endif()
  if(NOT output MATCHES "(^|\n)${last_line}\n$")
    message(SEND_ERROR "${ARGN}: last line is not '${last_line}':\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# A case of its own, taken from the measured ones: `number` runs of one model.
file(READ ${DATA}/transformers-5.24.0.json cases)
string(JSON case GET "${cases}" 0)
string(JSON id GET "${case}" id)
string(JSON number LENGTH "${case}" runs)
string(JSON name GET "${case}" runs 0 name)
string(JSON dtype GET "${case}" runs 0 settings dtype)
string(JSON bytes GET "${case}" runs 0 expect total_bytes)
math(EXPR others "${number} - 1")

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
file(WRITE ${SCRATCH}/true.json "${case}")
expect(0 "${number} matched, 0 differed, 0 unsupported, 0 refused as allowed" ${SCRATCH}/true.json)

# A figure off by one, up or down: reported with both values, in text and in JSON.
foreach(change IN ITEMS "+ 1" "- 1")
  math(EXPR false_bytes "${bytes} ${change}")
  string(JSON false_case SET "${case}" runs 0 expect total_bytes ${false_bytes})
  file(WRITE ${SCRATCH}/false.json "${false_case}")
  expect(1 "${others} matched, 1 differed, 0 unsupported, 0 refused as allowed" ${SCRATCH}/false.json)
  if(NOT output MATCHES "false.json: ${id}/${name}: total_bytes: expected ${false_bytes}, computed ${bytes}\n")
    message(SEND_ERROR "the difference is not reported:\n${output}")
  endif()
endforeach()
expect(1 ".*" ${SCRATCH}/false.json --format json)
string(JSON run GET "${output}" runs 0)
foreach(pair IN ITEMS "status=differed" "id=${id}" "run=${name}")
  string(REGEX MATCH "^([a-z]+)=(.*)$" ignored "${pair}")
  string(JSON value GET "${run}" ${CMAKE_MATCH_1})
  if(NOT value STREQUAL CMAKE_MATCH_2)
    message(SEND_ERROR "JSON has ${CMAKE_MATCH_1} '${value}' instead of '${CMAKE_MATCH_2}'")
  endif()
endforeach()
string(JSON value GET "${run}" figures 0 computed)
string(JSON differed GET "${output}" differed)
if(NOT value EQUAL bytes OR NOT differed EQUAL 1)
  message(SEND_ERROR "JSON has ${value} computed, ${differed} differed")
endif()

# A run that the engine is said to refuse, and does not.
string(JSON refused SET "${case}" runs 0 expect "{\"error\": \"out of memory\"}")
file(WRITE ${SCRATCH}/refused.json "${refused}")
expect(1 "${others} matched, 1 differed, 0 unsupported, 0 refused as allowed" ${SCRATCH}/refused.json)

# Folders are read with all that is in them.
file(MAKE_DIRECTORY ${SCRATCH}/folder/inner)
file(WRITE ${SCRATCH}/folder/inner/case.json "[${case},${case}]")
math(EXPR twice "2 * ${number}")
expect(0 "${twice} matched, 0 differed, 0 unsupported, 0 refused as allowed" ${SCRATCH}/folder)

# Selection: the falsified run alone, all but none, nothing.
expect(1 "0 matched, 1 differed, 0 unsupported, 0 refused as allowed" ${SCRATCH}/false.json --select name=${name})
expect(0 "0 matched, 0 differed, 0 unsupported, 0 refused as allowed" ${SCRATCH}/false.json --select name=nothing)
expect(0 "${number} matched, 0 differed, 0 unsupported, 0 refused as allowed"
  ${SCRATCH}/true.json --select engine=vllm,transformers)
expect(0 "1 matched, 0 differed, 0 unsupported, 0 refused as allowed"
  ${SCRATCH}/true.json --select dtype=${dtype} --select name=${name})

# What is not understood is unsupported, and an error unless it is allowed by name.
string(JSON unknown SET "${case}" config "{\"model_type\": \"no-such-model\"}")
file(WRITE ${SCRATCH}/unknown.json "${unknown}")
expect(1 "0 matched, 0 differed, ${number} unsupported, 0 refused as allowed" ${SCRATCH}/unknown.json)
expect(0 "0 matched, 0 differed, 0 unsupported, ${number} refused as allowed"
  ${SCRATCH}/unknown.json --allow-unsupported "${id}/*")
expect(1 "0 matched, 0 differed, ${others} unsupported, 1 refused as allowed"
  ${SCRATCH}/unknown.json --allow-unsupported other --allow-unsupported "${id}/${name}")
# A difference is not a refusal.
expect(1 "${others} matched, 1 differed, 0 unsupported, 0 refused as allowed" ${SCRATCH}/false.json --allow-unsupported "*")

# Wrong usage is 2, unreadable input 3.
foreach(arguments IN ITEMS "--no-such-option" "--select" "--select;name" "--format;xml" "--allow-unsupported")
  expect(2 "kvbudget-verify: error: [^\n]*" ${SCRATCH}/true.json ${arguments})
endforeach()
expect(2 "kvbudget-verify: error: [^\n]*")
expect(3 "kvbudget-verify: error: [^\n]*" ${SCRATCH}/missing.json)
file(WRITE ${SCRATCH}/broken.json "{")
expect(3 "kvbudget-verify: error: [^\n]*" ${SCRATCH}/broken.json)
