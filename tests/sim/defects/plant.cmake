# cmake -DPATCH=… -DROOT=… -DTO=… -P plant.cmake: copies the files that the patch names to TO and applies it there.
file(STRINGS ${PATCH} names REGEX "^\\+\\+\\+ b/")
foreach(name ${names})
  string(REGEX REPLACE "^\\+\\+\\+ b/([^\t ]+).*" "\\1" name "${name}")
  get_filename_component(folder ${TO}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  configure_file(${ROOT}/${name} ${TO}/${name} COPYONLY)
endforeach()
execute_process(COMMAND patch --silent --force --no-backup-if-mismatch -p1 -i ${PATCH} WORKING_DIRECTORY ${TO}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the planted defect ${PATCH} no longer applies: adapt it to the present code.\n${output}")
endif()
