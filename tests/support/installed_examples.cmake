# Installs the libraries of the build tree MCSIM into FOLDER, builds the projects in EXAMPLES
# against them, and runs those. GENERATOR, COMPILER and FLAGS are those of the build tree.
file(REMOVE_RECURSE ${FOLDER})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
foreach(component devel mrc)
  run(${CMAKE_COMMAND} --install ${MCSIM} --component ${component} --prefix ${FOLDER}/prefix)
endforeach()
function(build name source)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${source} -B ${FOLDER}/${name} -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -DCMAKE_EXE_LINKER_FLAGS=${FLAGS})
  run(${CMAKE_COMMAND} --build ${FOLDER}/${name})
endfunction()

build(policy ${EXAMPLES}/out_of_tree_policy)
set(ENV{MCSIM_EXAMPLE_POLICY} ${FOLDER}/policy/libsampled_lru.so)
run(${TEST} --gtest_brief=1 --gtest_filter=Plugin.TheExampleRuns)

build(online_mrc ${EXAMPLES})
run(${CMAKE_CTEST_COMMAND} --test-dir ${FOLDER}/online_mrc --output-on-failure --no-tests=error)

build(optimizers ${EXAMPLES}/optimizers)
# Four blocks: 25 + 0, 24 + 3, 18 + 5, 10 + 6 or 0 + 7 hits.
execute_process(COMMAND ${FOLDER}/optimizers/divide_cache OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
if(NOT out STREQUAL "3 and 1 blocks, 27 hits\n")
  message(FATAL_ERROR "unexpected output: ${out}")
endif()
