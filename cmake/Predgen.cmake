# predgen_add_library, predgen_add_tool, predgen_add_test: one way of making targets.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the source folder, so that every clone finds what another one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

# What every source of predgen is compiled with; users of its libraries do not inherit it.
add_library(predgen_flags INTERFACE)
target_include_directories(predgen_flags INTERFACE ${PROJECT_SOURCE_DIR})
# Checks name their source without the clone's folder, which ccache could not share otherwise.
target_compile_options(predgen_flags INTERFACE -Wall -Wextra -Wshadow $<$<BOOL:${PREDGEN_WERROR}>:-Werror>
                       -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
if(PREDGEN_SANITIZE)
  # Under sanitizers g++ 12 takes std::regex and std::variant for uninitialised.
  target_compile_options(predgen_flags INTERFACE -fsanitize=${PREDGEN_SANITIZE} -fno-omit-frame-pointer
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(predgen_flags INTERFACE -fsanitize=${PREDGEN_SANITIZE})
endif()

# The headers that cost most, compiled once for every target that uses LibTorch.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch.cpp CONTENT "")  # untouched when it is there
add_library(predgen_pch OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
target_link_libraries(predgen_pch PRIVATE predgen_flags predgen::torch spdlog::spdlog)
target_precompile_headers(predgen_pch PRIVATE <ATen/ATen.h> <nlohmann/json.hpp> <spdlog/spdlog.h>)

if(NOT PROJECT_IS_TOP_LEVEL)  # other projects include <predgen/..>, as from where it is installed
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include/predgen SYMBOLIC)
endif()

# predgen_add_library(name SOURCES .. [DEPENDS public ..] [PRIVATE_DEPENDS ..] [NO_TORCH] [INTERNAL]):
# predgen_<room>, which others link as predgen::<room>, installed or not; INTERNAL: never installed.
function(predgen_add_library name)
  cmake_parse_arguments(ARG "NO_TORCH;INTERNAL" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  string(REPLACE predgen_ "" room ${name})
  add_library(predgen::${room} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${room})
  if(NOT ARG_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY predgen_libraries ${name})
  endif()
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:include>)
  if(NOT PROJECT_IS_TOP_LEVEL)
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
  endif()
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:predgen_flags>)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  if(ARG_NO_TORCH)
    cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL predgen_refuse_torch ${name})")
  else()
    target_link_libraries(${name} PUBLIC predgen::torch)
    target_precompile_headers(${name} REUSE_FROM predgen_pch)
  endif()
endfunction()

# predgen_refuse_torch(target ..): stops the configuration when the target reaches LibTorch through
# whatever it links, and says on which way.
function(predgen_refuse_torch name)
  list(GET ARGV -1 last)
  if(last STREQUAL predgen::torch)
    string(REPLACE ";" " -> " way "${ARGV}")
    message(FATAL_ERROR "${name} is NO_TORCH, but reaches LibTorch: ${way}")
  endif()
  if(NOT TARGET ${last})
    return()
  endif()
  get_target_property(links ${last} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
    predgen_refuse_torch(${ARGV} ${link})
  endforeach()
endfunction()

# predgen_add_cuda_source(target room/file.cu): compiled by nvcc as a step of its own. CUDA as a language of
# the project would want a whole toolkit where the wheels bring only its parts.
function(predgen_add_cuda_source target source)
  get_filename_component(name ${source} NAME)
  set(input ${PROJECT_SOURCE_DIR}/${source})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
  # PTX, too, which GPUs that are not listed compile when they first run: of the oldest that nvcc knows,
  # and of the oldest with tensor cores for bfloat16.
  set(codes -gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=compute_80)
  foreach(architecture IN LISTS predgen_cuda_architectures)
    list(APPEND codes -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  set(host_options -Wall -Wextra -Werror -fPIC ${predgen_system_headers})
  list(JOIN host_options , host_options)  # as one word, which ccache leaves alone
  # -fmad=false: else the compiler may fuse a multiplication and an addition in one instance of a kernel and not in
  # another one, whose bits then differ.
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${PREDGEN_NVCC} -c ${input} -o ${object} -std=c++20 -O3 -fmad=false -ccbin ${CMAKE_CXX_COMPILER} ${codes}
            --frandom-seed ${name} -Werror all-warnings -Xcompiler ${host_options}
            -I${PROJECT_SOURCE_DIR} -isystem ${cuda_headers} -MD -MF ${object}.d
    DEPENDS ${input} DEPFILE ${object}.d COMMENT "Compiling ${source} for CUDA" VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE ${object})
endfunction()

# predgen_embed_page(target namespace files ..): the target gets page_source() in the namespace: a page of
# core/page with these styles and scripts behind those that every page has.
function(predgen_embed_page target namespace)
  set(shared style.css elements.js canvas.js row_charts.js line_plot.js figure.js)
  list(TRANSFORM shared PREPEND ${PROJECT_SOURCE_DIR}/core/page/)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedReport.cmake)
  set(page ${PROJECT_SOURCE_DIR}/core/page/report.html)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/page_source.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DTEMPLATE=${page} "-DFILES=${shared};${ARGN}" -DNAMESPACE=${namespace} -DOUTPUT=${output} -P ${script}
    DEPENDS ${page} ${shared} ${ARGN} ${script} VERBATIM)
  # In a target of its own: with the step in this one, its sources would wait for all that it links.
  add_library(${target}_source OBJECT ${output})
  target_link_libraries(${target}_source PRIVATE predgen_flags)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_source>)
endfunction()

# predgen_add_tool(name SOURCES .. DEPENDS ..): a program.
function(predgen_add_tool name)
  cmake_parse_arguments(ARG "NO_TORCH" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE predgen_flags ${ARG_DEPENDS})
  if(NOT ARG_NO_TORCH)
    target_precompile_headers(${name} REUSE_FROM predgen_pch)
  endif()
endfunction()

# predgen_optimise_less(target): for a room that only calls what computes. -O2 took 1.4 to 1.5 times as long to
# compile. With -O1 g++ 12 takes empty std::optionals for uninitialised numbers.
function(predgen_optimise_less target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1 -Wno-maybe-uninitialized>)
endfunction()

if(PREDGEN_TESTS)
  # What tests are compiled with: they run once, so optimising them would take longer than it saves.
  add_library(predgen_test_flags INTERFACE)
  target_link_libraries(predgen_test_flags INTERFACE predgen_flags)
  target_compile_options(predgen_test_flags INTERFACE $<$<CONFIG:Release>:-O0>)
  # What they include most, with LibTorch and without, compiled once for all of them.
  foreach(kind test test_no_torch)
    add_library(predgen_${kind}_pch OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
    target_link_libraries(predgen_${kind}_pch PRIVATE predgen_test_flags GTest::gmock nlohmann_json::nlohmann_json)
    target_precompile_headers(predgen_${kind}_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  endforeach()
  target_link_libraries(predgen_test_pch PRIVATE predgen::torch)
  target_precompile_headers(predgen_test_pch PRIVATE <ATen/ATen.h>)
endif()

# predgen_add_test(folder SOURCES .. DEPENDS .. [LABELS ..] [NO_TORCH] [APART ..]): one test program a folder.
# Its sources are compiled together, so names in their unnamed namespaces are the program's own; those APART are
# compiled alone. The label `shared` is for tests that read more where the reference data is (scripts/test.sh).
function(predgen_add_test folder)
  cmake_parse_arguments(ARG "NO_TORCH" "" "SOURCES;DEPENDS;LABELS;APART" ${ARGN})
  set(name ${folder}_test)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE predgen_test_flags ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  if(ARG_NO_TORCH)
    target_precompile_headers(${name} REUSE_FROM predgen_test_no_torch_pch)
  else()
    target_precompile_headers(${name} REUSE_FROM predgen_test_pch)
  endif()
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_test(NAME ${folder} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${folder} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

# predgen_add_python_test(name script [LABELS ..]): a check against a Python reference; exit 77 skips.
function(predgen_add_python_test name script)
  cmake_parse_arguments(ARG "" "" "LABELS;ARGS" ${ARGN})
  add_test(NAME ${name} COMMAND ${PREDGEN_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARG_ARGS}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "PREDGEN=$<TARGET_FILE:predgen>;$<$<TARGET_EXISTS:fork_server>:PREDGEN_FORK_SERVER=$<TARGET_FILE:fork_server>>")
endfunction()
