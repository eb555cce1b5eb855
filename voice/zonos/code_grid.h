#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "voice/zonos/zonos_config.h"

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

}  // namespace predgen
