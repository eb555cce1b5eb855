# Every external dependency: here those of the build, in LinkedPackages.cmake what the libraries link.
if(NOT PREDGEN_PYTHON AND NOT PREDGEN_LIBTORCH)
  message(FATAL_ERROR "Give -DPREDGEN_PYTHON=<python with torch> or -DPREDGEN_LIBTORCH=<folder>; "
                      "scripts/setup.sh prepares one and scripts/build.sh passes it on")
endif()
if(PREDGEN_PYTHON)
  execute_process(COMMAND ${PREDGEN_PYTHON} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
                  OUTPUT_VARIABLE PREDGEN_SITE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
set(predgen_torch_dir ${PREDGEN_LIBTORCH})
if(NOT predgen_torch_dir)
  set(predgen_torch_dir ${PREDGEN_SITE}/torch)
endif()
if(NOT EXISTS ${predgen_torch_dir}/include/ATen/ATen.h)
  message(FATAL_ERROR "No LibTorch in ${predgen_torch_dir}: run scripts/setup.sh or pass -DPREDGEN_LIBTORCH")
endif()
set(predgen_arrow_dir)
if(PREDGEN_PARQUET)
  set(predgen_arrow_dir ${PREDGEN_SITE}/pyarrow)
endif()
# The recogniser and the voices of small models: sherpa-onnx with its ONNX Runtime, from a wheel that
# scripts/setup.sh adds. Without it neither predgen_sherpa nor predgen_onnxruntime is a target.
set(predgen_speech_dir)
if(PREDGEN_SPEECH)
  set(predgen_speech_dir ${PREDGEN_SITE}/sherpa_onnx)
  foreach(file include/sherpa-onnx/c-api/c-api.h lib/libsherpa-onnx-c-api.so lib/libonnxruntime.so)
    if(NOT EXISTS ${predgen_speech_dir}/${file})
      message(STATUS "No ${predgen_speech_dir}/${file}: without recogniser and small voices; scripts/setup.sh adds it")
      set(predgen_speech_dir)
      break()
    endif()
  endforeach()
else()
  message(STATUS "PREDGEN_SPEECH is off: without recogniser and small voices")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/LinkedPackages.cmake)

find_package(CLI11 REQUIRED)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
if(PREDGEN_TESTS)
  find_package(GTest REQUIRED)
endif()

# Source of the CUDA graphs: the headers of the runtime come with wheels, or with the toolkit.
set(PREDGEN_GRAPHS none)
if(EXISTS ${predgen_torch_dir}/lib/libtorch_cuda.so)
  find_path(cuda_headers cuda_runtime_api.h NO_CACHE NO_DEFAULT_PATH
            PATHS ${PREDGEN_CUDA}/include ${PREDGEN_SITE}/nvidia/cu13/include)
  if(EXISTS "${cuda_headers}/crt/host_config.h")
    set(PREDGEN_GRAPHS cuda)
  else()
    message(STATUS "No cuda_runtime_api.h and crt/host_config.h: without CUDA graphs the voice model is slower on a "
                   "GPU; scripts/setup.sh --gpu adds them, or give -DPREDGEN_CUDA=<toolkit>")
  endif()
endif()

# Collectives between GPUs: LibTorch's NCCL, whose header comes with a wheel, or with the toolkit.
set(PREDGEN_NCCL none)
find_path(nccl_headers nccl.h NO_CACHE NO_DEFAULT_PATH
          PATHS ${PREDGEN_CUDA}/include ${PREDGEN_SITE}/nvidia/nccl/include)
if(nccl_headers AND PREDGEN_GRAPHS STREQUAL "cuda")
  set(PREDGEN_NCCL cuda)
endif()

# nvcc, which compiles the CUDA kernels of kernels/gpu/: from a wheel beside torch's, or from the
# toolkit; never what the system happens to have.
set(PREDGEN_CUDA_ARCHITECTURES "86;89;90" CACHE STRING
    "GPUs to compile kernels for; others compile them when they first run. all: for programs that are given to others")
set(predgen_cuda_architectures ${PREDGEN_CUDA_ARCHITECTURES})
if(predgen_cuda_architectures STREQUAL "all")
  set(predgen_cuda_architectures 75 80 86 89 90 100 120)
endif()
# The CUDA runtime of the kernels is linked into the module, which so names no library of CUDA itself.
find_file(predgen_cudart libcudart_static.a NO_CACHE NO_DEFAULT_PATH
          PATHS ${PREDGEN_CUDA}/lib64 ${PREDGEN_SITE}/nvidia/cu13/lib)
set(PREDGEN_KERNELS none)
find_program(PREDGEN_NVCC nvcc NO_CACHE NO_DEFAULT_PATH PATHS ${PREDGEN_CUDA}/bin ${PREDGEN_SITE}/nvidia/cu13/bin)
if(PREDGEN_NVCC AND PREDGEN_GRAPHS STREQUAL "cuda" AND predgen_cudart)
  set(PREDGEN_KERNELS cuda)
else()
  message(STATUS "No nvcc for this LibTorch: without CUDA kernels 8-bit weights are slow on a GPU")
endif()
