# Installs what others need from the build tree MCSIM, builds the EXAMPLE with it, both in FOLDER,
# and has the TEST load it. GENERATOR is what the machine is known to have.
file(REMOVE_RECURSE ${FOLDER})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${MCSIM} --component devel --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${EXAMPLE} -B ${FOLDER}/build -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_PREFIX_PATH=${FOLDER}/prefix)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
set(ENV{MCSIM_EXAMPLE_POLICY} ${FOLDER}/build/libsampled_lru.so)
run(${TEST} --gtest_brief=1 --gtest_filter=Plugin.TheExampleRuns)
