#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/cpu/cpu_products.h"
#include "model/parts/recurrent_part.h"

namespace predgen {

// Shapes: T new tokens of the pass, M what a part finds of a token.

/// The new tokens of a sequence in a layer that keeps a state, [units,unit_size] float32.
struct CpuStates {
  /// A state that the pass keeps: after so many of the tokens.
  struct Point {
    int64_t num_new;
    float* to;
  };
  int64_t first = 0, count = 0;        // tokens of the pass
  const float* begin = nullptr;        // null: the beginning of a text
  std::span<const Point> points{};     // ascending
  std::span<const int64_t> parents{};  // tree_parents(); empty: a path
};

/// A float32 copy of a weight, made again when the weight has changed.
class WideCopy {
 public:
  const float* of(const at::Tensor& weight, const std::function<at::Tensor()>& make);

 private:
  const void* place_ = nullptr;
  int64_t version_ = -1;
  at::Tensor copy_;
};

/// A layer that keeps a state as our kernels for CPUs run it: products, then token after token what
/// each unit of the state makes of them, then a product. Units share nothing, so each is one
/// thread's.
class CpuRecurrence {
 public:
  /// Null: the kernels do not support the part. Borrows it.
  static std::unique_ptr<CpuRecurrence> of(const RecurrentPart& part);
  virtual ~CpuRecurrence() = default;

  /// Looks at the weights again. False if the kernels do not support them: other types, training.
  bool read(bool with_adapter);
  std::span<const CpuLinear> inputs() const { return inputs_; }
  std::span<const CpuLinear> output() const { return {&output_, 1}; }

  /// A state as the part keeps it, over the same memory.
  virtual at::Tensor shaped(const at::Tensor& state) const = 0;
  int64_t num_units() const { return num_units_; }
  int64_t unit_size() const { return unit_size_; }

  /// Runs a thread's share of the units of all sequences over their tokens. `x`: the inputs'
  /// outputs [T,..], of which it may overwrite its own; `found`: [T,M]. `memory` grows.
  void run_share(std::span<const CpuStates> steps, int thread, int num_threads,
                 std::span<float* const> x, float* found, std::vector<float>& memory) const;

 protected:
  CpuRecurrence(int64_t num_units, int64_t unit_size, int64_t scratch_size)
      : num_units_(num_units), unit_size_(unit_size), scratch_size_(scratch_size) {}
  virtual std::vector<const Linear*> read_weights() = 0;  // the inputs', then the output's
  /// Changes a unit's state by a token, and writes the unit's part of `found` [T,M].
  virtual void advance(int64_t unit, int64_t token, std::span<float* const> x, float* state,
                       float* found, float* scratch) const = 0;

 private:
  void run(int64_t unit, const CpuStates& states, std::span<float* const> x, float* found,
           std::vector<float>& memory) const;

  const int64_t num_units_, unit_size_, scratch_size_;
  std::vector<CpuLinear> inputs_;
  CpuLinear output_;
};

}  // namespace predgen
