#pragma once

#include <cstdint>

namespace at {
class Tensor;  // only named: CUDA sources include this header, and none of LibTorch's
}

namespace predgen {

// Products y = x W^T for the few rows of a decoding step. They are bound by the bytes of W, so W is
// read once, in its order and ahead of need. x is bfloat16 [rows,in], W [out,in] and contiguous, y
// bfloat16 [rows,out]; all lie on one device, at any address. With our own kernels a row
// of y does not depend on how many others there are. Callable from any thread; on CUDA the work
// goes to the current stream and is not waited for, so that a graph can capture it.

constexpr int64_t kFewRows = 16;

/// Whether int8_product() takes `x`: at most kFewRows rows, and a kernel for its device is in this
/// build. On a CPU that is ours for AVX-512 with VNNI, else LibTorch's, which wants `in` to be a
/// multiple of 16.
bool has_int8_product(const at::Tensor& x);
/// `values` int8 [out,in]; `scales` bfloat16 [out]: W ~ values * scales. Our kernel for CPUs
/// multiplies integers, exactly: each row of x is rounded to 16 bits of its largest entry, and a
/// row that is not finite gives NaN. The others sum in float32.
at::Tensor int8_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales);

/// Whether bfloat16_product() takes `x`: one or two rows on a CPU that has AVX-512 with bfloat16,
/// `in` a multiple of 64.
bool has_bfloat16_product(const at::Tensor& x);
/// `weight` bfloat16 [out,in]. Summed in float32.
at::Tensor bfloat16_product(const at::Tensor& x, const at::Tensor& weight);

// The kernels, which row_product.cpp chooses from and checks the arguments of. bfloat16 as its
// bits.

struct Int8Product {
  const uint16_t* x;
  const int8_t* values;
  const uint16_t* scales;
  uint16_t* y;
  int64_t rows, in, out;
};

struct Bfloat16Product {
  const uint16_t* x;
  const uint16_t* weight;
  uint16_t* y;
  int64_t rows, in, out;
};

/// What this processor can run and the environment's ATEN_CPU_CAPABILITY allows.
bool has_int8_product_on_cpu();
bool has_bfloat16_product_on_cpu();
void run_on_cpu(const Int8Product& product);
void run_on_cpu(const Bfloat16Product& product);

/// Whether nvcc was there when this was built.
bool has_int8_product_on_cuda();
/// On `stream`, a cudaStream_t of the current device. Returns why the kernel cannot be launched, or
/// null.
const char* run_on_cuda(const Int8Product& product, void* stream);

}  // namespace predgen
