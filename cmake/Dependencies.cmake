# Every external dependency, and only here.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
pkg_check_modules(SNDFILE REQUIRED IMPORTED_TARGET sndfile)
pkg_check_modules(SAMPLERATE REQUIRED IMPORTED_TARGET samplerate)
pkg_check_modules(PORTAUDIO REQUIRED IMPORTED_TARGET portaudio-2.0)
find_package(HDF5 REQUIRED COMPONENTS C)
if(PREDGEN_TESTS)
  find_package(GTest REQUIRED)
endif()
if(PREDGEN_BENCH)
  find_package(benchmark REQUIRED)
endif()

# LibTorch: the one inside the torch wheel. find_package(Torch) insists on a CUDA toolkit, so the
# target is made here; the same libraries run with and without a GPU.
if(NOT PREDGEN_PYTHON AND NOT PREDGEN_LIBTORCH)
  message(FATAL_ERROR "Give -DPREDGEN_PYTHON=<python with torch> or -DPREDGEN_LIBTORCH=<folder>; "
                      "scripts/setup.sh prepares one and scripts/build.sh passes it on")
endif()
if(PREDGEN_PYTHON)
  execute_process(COMMAND ${PREDGEN_PYTHON} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
                  OUTPUT_VARIABLE PREDGEN_SITE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
set(torch_dir ${PREDGEN_LIBTORCH})
if(NOT torch_dir)
  set(torch_dir ${PREDGEN_SITE}/torch)
endif()
if(NOT EXISTS ${torch_dir}/include/ATen/ATen.h)
  message(FATAL_ERROR "No LibTorch in ${torch_dir}: run scripts/setup.sh or pass -DPREDGEN_LIBTORCH")
endif()
add_library(predgen_torch INTERFACE)
# -idirafter: the wheel also carries headers of fmt, in another version than the system's.
target_compile_options(predgen_torch INTERFACE
  "SHELL:-idirafter ${torch_dir}/include" "SHELL:-idirafter ${torch_dir}/include/torch/csrc/api/include")
target_link_directories(predgen_torch INTERFACE ${torch_dir}/lib)
target_link_options(predgen_torch INTERFACE "LINKER:-rpath,${torch_dir}/lib" "LINKER:-rpath-link,${torch_dir}/lib")
# stdc++ first: libtorch.so exports std::filesystem of an older compiler, which crashes in
# remove_all and directory_iterator.
if(EXISTS ${torch_dir}/lib/libtorch_cuda.so)
  # Nothing refers to libtorch_cuda by name: without --no-as-needed the linker would drop it.
  target_link_libraries(predgen_torch INTERFACE
    "-Wl,--push-state,--no-as-needed" stdc++ torch torch_cpu torch_cuda c10 c10_cuda "-Wl,--pop-state")
else()
  target_link_libraries(predgen_torch INTERFACE
    "-Wl,--push-state,--no-as-needed" stdc++ torch torch_cpu c10 "-Wl,--pop-state")
endif()

# Source of the CUDA graphs: the headers of the runtime come with wheels, or with the toolkit.
set(PREDGEN_GRAPHS none)
if(EXISTS ${torch_dir}/lib/libtorch_cuda.so)
  find_path(cuda_headers cuda_runtime_api.h NO_CACHE NO_DEFAULT_PATH
            PATHS ${PREDGEN_CUDA}/include ${PREDGEN_SITE}/nvidia/cu13/include)
  if(EXISTS "${cuda_headers}/crt/host_config.h")
    set(PREDGEN_GRAPHS cuda)
  else()
    message(WARNING "No cuda_runtime_api.h and crt/host_config.h: without CUDA graphs the voice model is "
                    "slower on a GPU; give -DPREDGEN_CUDA=<toolkit>")
  endif()
endif()

# A LibTorch that is not the wheel finds the CUDA libraries in the toolkit; the wheel brings its own.
if(PREDGEN_CUDA)
  if(NOT EXISTS ${PREDGEN_CUDA}/include/cuda_runtime_api.h)
    message(FATAL_ERROR "No CUDA toolkit in ${PREDGEN_CUDA}: give the folder that holds include/cuda_runtime_api.h")
  endif()
  target_compile_options(predgen_torch INTERFACE "SHELL:-idirafter ${PREDGEN_CUDA}/include")
  target_link_options(predgen_torch INTERFACE
    "LINKER:-rpath,${PREDGEN_CUDA}/lib64" "LINKER:-rpath-link,${PREDGEN_CUDA}/lib64")
endif()

# Arrow and Parquet: the C++ libraries inside the pyarrow wheel, which has no unversioned names.
if(PREDGEN_PARQUET)
  set(arrow_dir ${PREDGEN_SITE}/pyarrow)
  file(GLOB arrow_so ${arrow_dir}/libarrow.so.*)
  file(GLOB parquet_so ${arrow_dir}/libparquet.so.*)
  if(NOT arrow_so OR NOT parquet_so)
    message(FATAL_ERROR "No Arrow libraries in ${arrow_dir}: install pyarrow, or -DPREDGEN_PARQUET=OFF")
  endif()
  add_library(predgen_arrow INTERFACE)
  target_include_directories(predgen_arrow SYSTEM INTERFACE ${arrow_dir}/include)
  target_link_libraries(predgen_arrow INTERFACE ${parquet_so} ${arrow_so})
  target_link_options(predgen_arrow INTERFACE "LINKER:-rpath,${arrow_dir}")
endif()

# Jinja, for chat templates: llama.cpp's engine, compiled from the source that scripts/fetch_jinja.py
# keeps, with limits to what a template may take (engine.patch). text/template/jinja_shim/ stands in for the
# two headers of llama.cpp that the engine includes.
set(jinja_dir ${PREDGEN_JINJA})
if(NOT jinja_dir AND PREDGEN_PYTHON)
  execute_process(COMMAND ${PREDGEN_PYTHON} -c "import sys; print(sys.prefix)"
                  OUTPUT_VARIABLE python_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(jinja_dir ${python_prefix}/share/llama-jinja-0.3.36)
endif()
if(NOT EXISTS ${jinja_dir}/jinja/runtime.h)
  message(FATAL_ERROR "No Jinja engine in '${jinja_dir}': run scripts/setup.sh or pass -DPREDGEN_JINJA")
endif()
set(jinja_patch ${PROJECT_SOURCE_DIR}/text/template/jinja_shim/engine.patch)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${jinja_patch})
file(SHA256 ${jinja_patch} jinja_hash)
string(SUBSTRING ${jinja_hash} 0 12 jinja_hash)
set(jinja_source ${jinja_dir})
set(jinja_dir ${CMAKE_BINARY_DIR}/jinja-${jinja_hash})
if(NOT EXISTS ${jinja_dir})
  find_program(PATCH patch REQUIRED)  # comes with build-essential
  file(COPY ${jinja_source}/jinja DESTINATION ${jinja_dir}.new)
  execute_process(COMMAND ${PATCH} --silent -p1 -i ${jinja_patch} WORKING_DIRECTORY ${jinja_dir}.new
                  COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME ${jinja_dir}.new ${jinja_dir})
endif()
add_library(predgen_jinja STATIC)
foreach(source lexer parser runtime string value)
  target_sources(predgen_jinja PRIVATE ${jinja_dir}/jinja/${source}.cpp)
endforeach()
target_include_directories(predgen_jinja PUBLIC ${PROJECT_SOURCE_DIR}/text/template/jinja_shim)
target_include_directories(predgen_jinja SYSTEM PUBLIC ${jinja_dir})
target_compile_options(predgen_jinja PRIVATE -w -fwrapv)  # its integers may overflow, ..
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # .. and numbers become integers that they do not fit
  target_compile_options(predgen_jinja PRIVATE -fno-strict-float-cast-overflow)
endif()
if(PREDGEN_SANITIZE)
  target_compile_options(predgen_jinja PRIVATE -fsanitize=${PREDGEN_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize=float-cast-overflow)
endif()
target_link_libraries(predgen_jinja PUBLIC nlohmann_json::nlohmann_json PRIVATE PkgConfig::UTF8PROC)

if(PREDGEN_FUZZ)
  target_compile_definitions(predgen_jinja PUBLIC PREDGEN_FUZZ)
endif()

# HDF5's own targets differ between cmake versions; this one does not.
add_library(predgen_hdf5 INTERFACE)
target_include_directories(predgen_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(predgen_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
