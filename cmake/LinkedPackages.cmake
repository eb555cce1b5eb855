# What predgen's libraries link. Installed as well: find_package(predgen) finds it with this same file.
#   predgen_only_text   true: only what predgen::core and predgen::text link
#   predgen_torch_dir   folder of LibTorch; empty: only what the rooms without it link
#   predgen_arrow_dir   folder of Arrow's libraries; empty: no Parquet
#   predgen_speech_dir  folder of sherpa-onnx, its libraries in lib/; empty: no recogniser, no small voices
#   PREDGEN_CUDA        CUDA toolkit, for a LibTorch that is not the wheel's; empty: none
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
if(predgen_only_text)
  return()
endif()
pkg_check_modules(SNDFILE REQUIRED IMPORTED_TARGET sndfile)
pkg_check_modules(SAMPLERATE REQUIRED IMPORTED_TARGET samplerate)
pkg_check_modules(PORTAUDIO REQUIRED IMPORTED_TARGET portaudio-2.0)
pkg_check_modules(SPEEXDSP IMPORTED_TARGET speexdsp)  # audio/ does without
find_package(Boost 1.74 REQUIRED)  # headers only: Beast
if(NOT predgen_torch_dir OR TARGET predgen::torch)
  return()
endif()
find_package(HDF5 REQUIRED COMPONENTS C)  # compiles a C test: the project needs C among its languages

# HDF5's own targets differ between cmake versions; this one does not.
add_library(predgen::hdf5 INTERFACE IMPORTED)
target_include_directories(predgen::hdf5 INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(predgen::hdf5 INTERFACE ${HDF5_C_LIBRARIES})

# LibTorch. Its find_package(Torch) insists on a CUDA toolkit, so the target is made here; the same
# libraries run with and without a GPU.
set(torch_lib ${predgen_torch_dir}/lib)
add_library(predgen::torch INTERFACE IMPORTED)
# -idirafter: the wheel also carries headers of fmt, in another version than the system's.
target_compile_options(predgen::torch INTERFACE "SHELL:-idirafter ${predgen_torch_dir}/include"
  "SHELL:-idirafter ${predgen_torch_dir}/include/torch/csrc/api/include")
target_link_options(predgen::torch INTERFACE "LINKER:-rpath-link,${torch_lib}")
# The part for CPUs: what needs CUDA is opened when it is wanted (model/gpu/cuda_module.h). stdc++
# first: LibTorch exports std::filesystem of an older compiler, which crashes in remove_all and
# directory_iterator.
target_link_libraries(predgen::torch INTERFACE
  "-Wl,--push-state,--no-as-needed" stdc++ "-Wl,--pop-state" ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so)

# A LibTorch that is not the wheel's finds the CUDA libraries in the toolkit; the wheel brings its own.
if(PREDGEN_CUDA)
  if(NOT EXISTS ${PREDGEN_CUDA}/include/cuda_runtime_api.h)
    message(FATAL_ERROR "No CUDA toolkit in ${PREDGEN_CUDA}: give the folder that holds include/cuda_runtime_api.h")
  endif()
  target_compile_options(predgen::torch INTERFACE "SHELL:-idirafter ${PREDGEN_CUDA}/include")
  target_link_options(predgen::torch INTERFACE
    "LINKER:-rpath,${PREDGEN_CUDA}/lib64" "LINKER:-rpath-link,${PREDGEN_CUDA}/lib64")
endif()

# Arrow and Parquet: the libraries of the pyarrow wheel, which have no unversioned names.
if(predgen_arrow_dir)
  file(GLOB arrow_so ${predgen_arrow_dir}/libarrow.so.*)
  file(GLOB parquet_so ${predgen_arrow_dir}/libparquet.so.*)
  if(NOT arrow_so OR NOT parquet_so)
    message(FATAL_ERROR "No Arrow libraries in ${predgen_arrow_dir}: install pyarrow, or -DPREDGEN_PARQUET=OFF")
  endif()
  add_library(predgen::arrow INTERFACE IMPORTED)
  if(EXISTS ${predgen_arrow_dir}/include)
    target_include_directories(predgen::arrow INTERFACE ${predgen_arrow_dir}/include)
  endif()
  target_link_libraries(predgen::arrow INTERFACE ${parquet_so} ${arrow_so})
endif()

# sherpa-onnx by its C interface, and the ONNX Runtime that it brings, whose headers it does not.
if(predgen_speech_dir)
  add_library(predgen_onnxruntime SHARED IMPORTED)
  set_target_properties(predgen_onnxruntime PROPERTIES
    IMPORTED_LOCATION ${predgen_speech_dir}/lib/libonnxruntime.so IMPORTED_SONAME libonnxruntime.so)
  add_library(predgen_sherpa SHARED IMPORTED)
  set_target_properties(predgen_sherpa PROPERTIES
    IMPORTED_LOCATION ${predgen_speech_dir}/lib/libsherpa-onnx-c-api.so IMPORTED_SONAME libsherpa-onnx-c-api.so
    IMPORTED_LINK_DEPENDENT_LIBRARIES predgen_onnxruntime)
  if(EXISTS ${predgen_speech_dir}/include/sherpa-onnx)
    target_include_directories(predgen_sherpa INTERFACE ${predgen_speech_dir}/include)
  endif()
endif()
