#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/threads/thread_team.h"
#include "model/cpu/cpu_linear.h"

namespace predgen {

/// [begin,end) of `total`, what a thread of the team takes of it: multiples of `unit`.
std::pair<int64_t, int64_t> share(int64_t total, int64_t unit, int thread, int num_threads);

/// Memory that grows and never shrinks; what it held is lost where it grows.
template <class T>
T* room(std::vector<T>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(static_cast<size_t>(size));
  return buffer.data();
}

/// Products of linears with the same input, y = x W^T + bias with their adapters: rows of x are
/// packed once, then each thread of a team computes its share of every linear's outputs. A
/// result's bits depend on its row of x and its row of W alone. `linears` have as many inputs; for
/// weights of several kinds x is packed for each of them.
class CpuProducts {
 public:
  using Linears = std::span<const CpuLinear>;

  /// Room for passes of `rows` rows over these. By one thread, before the others come.
  void prepare(Linears linears, int64_t rows);
  /// Rows [begin,end) of x float32 [rows,in]. Then the threads meet.
  void pack(Linears linears, const float* x, int64_t rows, int64_t begin, int64_t end);
  /// Which of `out` outputs are the thread's.
  static std::pair<int64_t, int64_t> outputs(int64_t out, const ThreadTeam& team, int thread);
  /// Rows that adapters count for, by their number, from now on; empty: all.
  void gate_adapters(std::vector<bool> rows) { adapted_rows_ = std::move(rows); }
  /// The thread's share of y[i] float32 [rows,out] of linear i. They meet within only for adapters.
  void multiply(Linears linears, int64_t rows, std::span<float* const> y, ThreadTeam& team,
                int thread);

 private:
  /// Rows of x as a kernel reads them, in memory that a larger number of them makes grow.
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
  std::vector<Packed> packed_;    // of each linear, in use where none before it is packed alike
  Packed wide_;                   // float32, for adapters
  std::vector<Adapted> adapted_;  // of each linear
  std::vector<bool> adapted_rows_;
};

}  // namespace predgen
