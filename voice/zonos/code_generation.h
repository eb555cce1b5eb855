#pragma once

#include <ATen/ATen.h>
#include <ATen/core/Generator.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "voice/zonos/zonos_config.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {

/// One value of each codebook: a code in [0,1024), EOS or MASK.
using CodeColumn = std::array<int64_t, kZonosCodebooks>;

/// The codes of an utterance as the model sees them: delayed. Frame f of codebook k is in column
/// f + k + 1; cells without a frame are MASK, and so is all of column 0. A value type.
class CodeGrid {
 public:
  /// `prefix_KP`: int64 [9,P] codes of an audio prefix, or undefined; its columns 0..P exist at
  /// once. UserError for codes outside [0,1024) and a limit below 1.
  CodeGrid(const at::Tensor& prefix_KP, int64_t max_new_frames);

  /// Columns so far.
  int64_t num_columns() const { return static_cast<int64_t>(columns_.size()); }
  const CodeColumn& column(int64_t index) const;
  /// The last `count` of them, or all if there are fewer. Valid until the next append().
  std::span<const CodeColumn> last_columns(int64_t count) const;
  /// Columns [0,count) as int64 [9,count].
  at::Tensor first_columns(int64_t count) const;

  /// Whether the next column is the first one to be sampled.
  bool is_first() const { return num_columns() == num_prefix_frames() + 1; }
  /// Whether codebook 0 may end the speech in the next column.
  bool may_end() const;
  /// Appends a column: sampled values go into the cells that hold a frame. EOS in codebook 0 ends
  /// the speech at the previous frame, once the other codebooks have caught up.
  void append(const CodeColumn& sampled);
  /// Whether all frames exist: EOS or the limit was reached.
  bool is_complete() const;

  int64_t num_prefix_frames() const { return static_cast<int64_t>(prefix_.size()); }
  /// Number of frames with all codebooks known, including the prefix's.
  int64_t num_frames() const;
  /// Frames [first, num_frames()) as int64 [9,..].
  at::Tensor codes(int64_t first = 0) const;
  bool ended_by_eos() const { return end_frame_ < limit_frame_; }

 private:
  void take_prefix(const at::Tensor& prefix_KP);

  std::vector<CodeColumn> prefix_;  // frames, without delay
  int64_t limit_frame_ = 0;         // N: prefix and new frames at most
  int64_t end_frame_ = 0;           // final number of frames; below the limit once EOS was seen
  std::vector<CodeColumn> columns_;
};

/// Applied in this order, as in Zyphra's sampling.py; 0 disables settings after temperature.
struct CodeSamplingConfig {
  /// For codes in the last `repetition_window` columns, positive logits are divided by it and
  /// others multiplied, once per occurrence; 1: off. > 0
  double repetition_penalty = 3.0;
  int64_t repetition_window = 2;
  double temperature = 1.0;  // 0: the most likely code
  /// "Unified" sampling: log p -> log p * (linear + entropy * confidence) - (log p)^2 * quadratic.
  double linear = 0.0;  // >= 0; 0: off, then the other two must be 0
  double confidence = 0.0;
  double quadratic = 0.0;
  double top_p = 0.0;  // in [0,1]
  int64_t top_k = 0;
  double min_p = 0.1;  // in [0,1]: keeps codes at least this likely relative to the likeliest
  /// Subtracted from codebook 0's EOS logit; ln 2 makes clipped endings rarer.
  double eos_penalty = 0.0;
  uint64_t seed = 0;
  /// Draws 1026 numbers per codebook, not 1025, as Python does: the same codes for its seed.
  bool python_draws = false;

  /// UserError naming the value that is out of range.
  void validate() const;
};

/// Draws columns of codes; the same seed gives the same draws.
class CodeSampler {
 public:
  explicit CodeSampler(const CodeSamplingConfig& config);
  CodeSampler(CodeSampler&&) = default;
  CodeSampler& operator=(CodeSampler&&) = default;

  /// The next column of `grid` from float32 logits [9,1025] on the CPU.
  CodeColumn sample(const at::Tensor& logits_KV, const CodeGrid& grid);

 private:
  CodeSamplingConfig config_;
  at::Generator generator_;
};

/// All steps but the repetition penalty: the filtered softmax(logits / temperature), [..,V].
at::Tensor filtered_probabilities(const at::Tensor& logits, const CodeSamplingConfig& config);
/// Applies the repetition penalty to a copy: `history` holds the columns that count.
at::Tensor penalize_repetition(const at::Tensor& logits_KV, std::span<const CodeColumn> history,
                               double penalty);

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
