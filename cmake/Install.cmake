# cmake --install: a tree that may be moved as a whole.
#   bin/predgen         finds LibTorch, then starts libexec/predgen/predgen (predgen.sh.in)
#   bin/predgen-fetch-model, bin/predgen-judge  fetch models, grade answers: links into share/predgen/scripts
#   libexec/predgen/    the programs, and the module that one of them opens for a GPU
#   lib/                the libraries, Arrow's and sherpa-onnx's with them; lib/torch: LibTorch, a link to
#                       it or a copy
#   lib/cmake/predgen/  what find_package(predgen) reads
#   include/predgen/    headers, which include each other as "predgen/.."
# What others build with is the component `development`; packages are made without (scripts/package.sh).
#   share/predgen/      configurations, and what those of the quickstart name; docs in share/doc/predgen/
include(CMakePackageConfigHelpers)
set(package_dir lib/cmake/predgen)

file(GLOB version_headers ${predgen_torch_dir}/include/torch/headeronly/version.h
  ${predgen_torch_dir}/include/torch/csrc/api/include/torch/version.h)
set(torch_version)
foreach(header IN LISTS version_headers)
  file(STRINGS ${header} parts REGEX "^#define TORCH_VERSION_M(AJ|IN)OR ")
  list(TRANSFORM parts REPLACE ".* " "")
  list(APPEND torch_version ${parts})
endforeach()
list(JOIN torch_version . torch_version)
configure_file(${PROJECT_SOURCE_DIR}/cmake/predgen.sh.in ${PROJECT_BINARY_DIR}/install/predgen @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/install/predgen DESTINATION bin)
set_target_properties(predgen PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib;$ORIGIN/../../lib/torch/lib")
install(TARGETS predgen DESTINATION libexec/predgen)
if(TARGET predgen_cuda)
  set_target_properties(predgen_cuda PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib/torch/lib")
  install(TARGETS predgen_cuda DESTINATION libexec/predgen OPTIONAL)  # absent where scripts/build.sh found no driver
endif()
if(PREDGEN_ESPEAK)
  set_target_properties(predgen-espeak PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib")
  install(TARGETS predgen-espeak DESTINATION libexec/predgen)
  install(FILES ${PROJECT_SOURCE_DIR}/voice/espeak/program/LICENSE DESTINATION share/doc/predgen RENAME LICENSE.predgen-espeak)
endif()
if(TARGET predgen-ears)
  set_target_properties(predgen-ears PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib")
  install(TARGETS predgen-ears DESTINATION libexec/predgen)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/predgen)
install(FILES ${predgen_xgrammar_dir}/LICENSE DESTINATION share/doc/predgen RENAME LICENSE.xgrammar)
# Its licence is its first lines.
install(FILES ${predgen_xgrammar_dir}/3rdparty/picojson/picojson.h DESTINATION share/doc/predgen RENAME LICENSE.picojson)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION share/doc/predgen)

# Without what saves passes and, on a CPU, no time, and without an adapter for another model than the first: 41 MB.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs ${PROJECT_SOURCE_DIR}/checkpoints DESTINATION share/predgen
  PATTERN smollm2-mtp EXCLUDE
  PATTERN qwen-coder-0.5b-home EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/samples DESTINATION share/predgen/data)
set(modules known_models.py model_wheels.py package_index.py convert_whisper.py ctranslate2_file.py onnx_file.py whisper_graphs.py
  judge_client.py judge_columns.py judge_prompts.py)
list(TRANSFORM modules PREPEND ${PROJECT_SOURCE_DIR}/scripts/)
install(FILES ${modules} DESTINATION share/predgen/scripts)
foreach(name fetch-model judge)
  string(REPLACE - _ script ${name}.py)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/${script} DESTINATION share/predgen/scripts)
  install(CODE "
    set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/predgen-${name}\")
    file(REMOVE \"\${link}\")
    file(CREATE_LINK ../share/predgen/scripts/${script} \"\${link}\" SYMBOLIC)")
endforeach()

if(PREDGEN_INSTALL_LIBTORCH STREQUAL "CPU")
  # libtorch_cpu.so of a LibTorch for CUDA wants two small libraries of NVIDIA's, which it finds beside itself.
  file(GLOB torch_parts ${predgen_torch_dir}/lib/libtorch_cpu.so ${predgen_torch_dir}/lib/libc10.so
    ${predgen_torch_dir}/lib/libgomp* ${predgen_torch_dir}/../nvidia/cu13/lib/libcudart.so.13
    ${predgen_torch_dir}/../nvidia/cu13/lib/libcupti.so.13)
  install(FILES ${torch_parts} DESTINATION lib/torch/lib)
elseif(PREDGEN_INSTALL_LIBTORCH)
  # The wheel's libraries look for those of CUDA in ../../nvidia.
  install(DIRECTORY ${predgen_torch_dir}/lib ${predgen_torch_dir}/include DESTINATION lib/torch
          USE_SOURCE_PERMISSIONS PATTERN "libtorch_python*" EXCLUDE PATTERN "*.a" EXCLUDE)
  if(IS_DIRECTORY ${predgen_torch_dir}/../nvidia)
    install(DIRECTORY ${predgen_torch_dir}/../nvidia DESTINATION lib FILES_MATCHING PATTERN "*.so*")
  endif()
else()
  install(CODE "
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib\")
    set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/torch\")
    if(IS_SYMLINK \"\${link}\" OR NOT EXISTS \"\${link}\")  # a folder there is the user's own
      file(REMOVE \"\${link}\")
      file(CREATE_LINK \"${predgen_torch_dir}\" \"\${link}\" SYMBOLIC)
    endif()")
endif()
if(predgen_arrow_dir)
  install(FILES ${arrow_so} ${parquet_so} DESTINATION lib)
  file(GLOB arrow_licences ${predgen_arrow_dir}-*.dist-info/licenses/*)
  install(FILES ${arrow_licences} DESTINATION share/doc/predgen/arrow)
endif()
if(predgen_speech_dir)
  install(FILES ${predgen_speech_dir}/lib/libsherpa-onnx-c-api.so ${predgen_speech_dir}/lib/libonnxruntime.so
          DESTINATION lib)
  # The wheel has no texts: sherpa-onnx is Apache-2.0, as predgen is.
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/predgen RENAME LICENSE.sherpa-onnx)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/LICENSE.onnxruntime DESTINATION share/doc/predgen)
endif()

get_property(libraries GLOBAL PROPERTY predgen_libraries)
install(TARGETS ${libraries} EXPORT predgen ARCHIVE DESTINATION lib COMPONENT development)
foreach(library IN LISTS libraries)
  string(REPLACE predgen_ "" room ${library})
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${room})  # otherwise a part of a room, installed with it
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION include/predgen COMPONENT development
            FILES_MATCHING PATTERN "*.h" PATTERN samples EXCLUDE
            PATTERN asr EXCLUDE PATTERN program EXCLUDE)  # of programs
  endif()
endforeach()
list(TRANSFORM libraries REPLACE predgen_ "" OUTPUT_VARIABLE rooms)
list(JOIN rooms "|" room_pattern)
list(JOIN rooms ", " rooms)
install(CODE "set(rooms \"${room_pattern}\")" COMPONENT development)
install(CODE [[
  file(GLOB_RECURSE headers "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/include/predgen/*.h")
  foreach(header IN LISTS headers)
    file(READ "${header}" text)
    string(REGEX REPLACE "#include \"(${rooms})/" "#include \"predgen/\\1/" text "${text}")
    file(WRITE "${header}" "${text}")
  endforeach()]] COMPONENT development)
install(EXPORT predgen NAMESPACE predgen:: FILE predgenTargets.cmake DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/predgenConfig.cmake.in
  ${PROJECT_BINARY_DIR}/install/predgenConfig.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/predgenConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/predgenConfig.cmake ${PROJECT_BINARY_DIR}/install/predgenConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/LinkedPackages.cmake DESTINATION ${package_dir} COMPONENT development)
