#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/token_kernels.h"
#include "model/cpu/cpu_products.h"
#include "model/parts/experts.h"

namespace predgen {

// Shapes: T new tokens, E hidden size, K experts chosen for each token, R = T * K rows.

/// The experts of a layer in a pass on a CPU: tokens become rows, those of the same expert follow
/// each other, and only experts that have rows are read. A row's bits do not depend on the others.
/// Threads of a team call it together; between the calls they meet.
class CpuExperts {
 public:
  /// Makes room for `num_tokens` tokens of such layers. Called by one thread.
  void prepare(const ExpertsSpec& spec, int64_t hidden_size, int64_t num_tokens);
  /// The router's products [T,count], to be filled in.
  float* logits() { return logits_.data(); }
  /// Chooses for tokens [begin,end). `scale`: of each expert's weight; empty: 1.
  void choose(const Experts& experts, std::span<const float> scale, int64_t begin, int64_t end);
  /// Puts rows in order and reads the experts that have some. Called by one thread. False if the
  /// kernels do not support one of them; then the pass cannot go on.
  bool group(const Experts& experts, int64_t num_tokens);
  bool is_supported() const { return is_supported_; }
  /// The thread's share; x [T,E] float32. Threads meet in it.
  void run(const Experts& experts, const float* x_TE, const TokenKernels& kernels, ThreadTeam& team,
           int thread);
  /// Adds a token's weighted outputs.
  void add_outputs(int64_t token, const TokenKernels& kernels, float* to_E) const;

 private:
  struct Active {
    int64_t begin, end;  // rows
    std::array<CpuLinear, 2> gate_up;
    std::array<CpuLinear, 1> down;
  };
  /// Packs the rows of [begin,end) that are an expert's, `from` [R,in].
  void pack(size_t index, CpuProducts::Linears linears, const float* from, int64_t begin,
            int64_t end);

  int64_t hidden_size_ = 0, chosen_ = 0, num_rows_ = 0;
  bool is_supported_ = true;
  std::vector<float> logits_, weights_;    // [T,count], [T,K]
  std::vector<int32_t> experts_, row_of_;  // [T,K]
  std::vector<int64_t> token_of_;          // [R]
  std::vector<int64_t> begins_;            // of an expert's rows, while they are put in order
  std::vector<Active> active_;
  std::vector<CpuProducts> products_;       // of each that is active
  std::vector<float> x_, gate_, up_, out_;  // [R,E], [R,width] twice, [R,E]
};

/// How a pass applies an activation to gates and the products beside them.
using GateKernel = void (*)(float* gates, const float* x, int64_t count);
GateKernel gate_kernel(const TokenKernels& kernels, Activation activation);

}  // namespace predgen
