#include "model/gpu/cuda_module.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "model/gpu/gpu_support.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

#ifdef HAS_CUDA_MODULE

/// LibTorch's part for CUDA can be loaded without a driver, as here.
TEST(CudaModule, HasAllThatItWasBuiltWith) {
  const CudaModule& module = open_cuda_module(cuda_module_file());
  EXPECT_EQ(module.kernels != nullptr, std::string(KERNELS_ARE) == "cuda");
  EXPECT_EQ(module.make_graph_memory != nullptr, std::string(GRAPHS_ARE) == "cuda");
  EXPECT_EQ(module.make_nccl_backend != nullptr, std::string(NCCL_IS) == "cuda");
  EXPECT_NE(dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId"), nullptr);  // who counts energy wants it
}

/// Without a driver or with one: asking never throws.
TEST(CudaModule, ItsKernelsSayWhatTheyNeed) {
  const GpuKernels* const kernels = open_cuda_module(cuda_module_file()).kernels;
  if (!kernels) GTEST_SKIP() << "built without nvcc";
  for (const auto launch : {kernels->group_product, kernels->widen_groups})
    EXPECT_NE(launch, nullptr);
  const GpuSupport support = kernels->support(0);
  EXPECT_GE(support.needed, 13'000);
  if (support.driver == 0) {
    EXPECT_NE(kernel_problem(support), "");
  }
  if (support.error == nullptr) {
    EXPECT_EQ(kernels->error(), nullptr);  // what was asked leaves nothing behind
  }
}

#endif

TEST(CudaModule, OfAnotherBuildIsRefused) {
  expect_user_error([] { open_cuda_module(ANOTHER_MODULE); },
                    {ANOTHER_MODULE, "is of predgen 0.0.9 (12345678)", "from one build"});
}

TEST(CudaModule, FilesThatAreNoneAreRefusedInOneLine) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "libpredgen_cuda.so";
  expect_user_error([&] { open_cuda_module(file); },
                    {file.string(), "no such file", "PREDGEN_CUDA_MODULE"});
  std::ofstream(file) << "not a library";
  expect_user_error([&] { open_cuda_module(file); },
                    {file.string(), "cannot be loaded", "LibTorch 2", "for CUDA"});
  Dl_info c10;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&c10::GetExceptionString), &c10), 0);
  expect_user_error([&] { open_cuda_module(c10.dli_fname); }, {"is not predgen's module"});
}

/// Its exceptions are the program's types, so that it can go on without a graph.
TEST(CudaModule, WhatItThrowsIsCaught) {
  const CudaModule& module = open_cuda_module(THIS_MODULE);
  EXPECT_THROW(module.make_graph_memory(at::Device(at::kCUDA, 0), StreamPriority::kHigh),
               c10::OutOfMemoryError);
}

TEST(CudaModule, ThereIsNoGraphOnACpu) {
  EXPECT_EQ(make_graph_memory(at::kCPU, StreamPriority::kHigh), nullptr);
}

}  // namespace
}  // namespace predgen
