#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/row_product_cpu.h"
#include "kernels/threads/thread_team.h"
#include "model/linear.h"

namespace predgen {

/// A Linear as the CPU kernels see it. Borrows its tensors.
struct CpuLinear {
  /// None if they do not support it: other types, another device, dropout.
  static std::optional<CpuLinear> of(const Linear& linear, bool with_adapter);

  bool has_adapter() const { return lora_A.weight != nullptr; }

  RowWeights weights = RowWeights::kFloat32;
  RowProduct product;          // without x, y, rows and bias
  const void* bias = nullptr;  // [out]; null: none
  bool has_wide_bias = false;  // float32, else bfloat16
  RowProduct lora_A, lora_B;   // float32
  float lora_scaling = 0.0f;
};

/// The range [begin,end) of `total` for one thread of the team, in multiples of `unit`.
std::pair<int64_t, int64_t> share(int64_t total, int64_t unit, int thread, int num_threads);

/// Memory that grows and never shrinks; growing loses its contents.
template <class T>
T* room(std::vector<T>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
  return buffer.data();
}

/// Products of linears with the same input, y = x W^T + bias with their adapters: rows of x are
/// packed once, then each thread of a team computes its share of every linear's outputs. The bits
/// of a result depend only on its row of x and its row of W. All `linears` have the same number of
/// inputs; x is packed once for each kind of weights.
class CpuProducts {
 public:
  using Linears = std::span<const CpuLinear>;

  /// Makes room for passes of `rows` rows. Called by one thread, before the others start.
  void prepare(Linears linears, int64_t rows);
  /// Packs rows [begin,end) of x float32 [rows,in]. A barrier of all threads must follow.
  void pack(Linears linears, const float* x, int64_t rows, int64_t begin, int64_t end);
  /// The thread's range of `out` outputs.
  static std::pair<int64_t, int64_t> outputs(int64_t out, const ThreadTeam& team, int thread);
  /// Sets the rows that adapters apply to from now on, by index; empty: all.
  void gate_adapters(std::vector<bool> rows) { adapted_rows_ = std::move(rows); }
  /// The thread's share of y[i] float32 [rows,out] of linear i. Threads meet only for adapters.
  void multiply(Linears linears, int64_t rows, std::span<float* const> y, ThreadTeam& team,
                int thread);

 private:
  /// Rows of x as a kernel reads them, in memory that grows with their number.
  struct Packed {
    PackedRows rows(RowWeights weights, RowProduct product, int64_t rows);

    std::vector<float> values, scales;
    std::vector<int32_t> sums;
  };
  struct Adapted {
    std::vector<float> narrowed;  // x A^T
    Packed packed;                // the same
    std::vector<float> widened;   // x A^T B^T
  };
  void multiply_adapters(Linears linears, int64_t rows, std::span<float* const> y, ThreadTeam& team,
                         int thread);

  std::vector<uint16_t> narrow_;  // x in bfloat16
  std::vector<Packed> packed_;    // per linear; unused if an earlier one is packed alike
  Packed wide_;                   // float32, for adapters
  std::vector<Adapted> adapted_;  // of each linear
  std::vector<bool> adapted_rows_;
};

}  // namespace predgen
