#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "voice/zonos/code_grid.h"
#include "voice/zonos/code_sampler.h"
#include "voice/zonos/graphed_step.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {

struct CodeGenerationConfig {
  CodeSamplingConfig sampling;
  double cfg_scale = 2.0;         // >= 0; 1: no guidance, half the work in memory
  int64_t max_new_frames = 2580;  // 30 s

  /// UserError naming the value that is out of range.
  void validate() const;
};

/// One utterance being generated as codes. While idle it costs only its memory.
class CodeGeneration {
 public:
  /// Prefills the prefix and the codes of an audio prefix (int64 [9,P] or undefined), and samples
  /// the first column. Borrows `model` and its `graphs`, which run the steps; null: steps run
  /// kernel by kernel. UserError if prefix and audio do not fit the context.
  CodeGeneration(const ZonosModel& model, const at::Tensor& prefix_2PD,
                 const CodeGenerationConfig& config, const at::Tensor& audio_prefix_KP = {},
                 GraphedStep* graphs = nullptr);

  /// Runs one forward pass and samples one column. Returns whether more follow; once false, it
  /// stays false. UserError when the model's context is full.
  bool step();
  bool is_complete() const { return grid_.is_complete(); }
  /// Whether EOS, not the limit, completed it.
  bool ended_by_eos() const { return grid_.ended_by_eos(); }

  /// Complete frames: prefix + steps - 7 (16 steps give 9), never below those of the prefix.
  int64_t num_frames() const { return grid_.num_frames(); }
  int64_t num_prefix_frames() const { return grid_.num_prefix_frames(); }
  /// Frames [first, num_frames()), int64 [9,..] on the CPU; all in [0,1024).
  at::Tensor codes(int64_t first = 0) const { return grid_.codes(first); }

 private:
  const ZonosModel* model_;
  GraphedStep* graphs_;
  double cfg_scale_;
  CodeGrid grid_;
  CodeSampler sampler_;
  ZonosCache cache_;
};

}  // namespace predgen
