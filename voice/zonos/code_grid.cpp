#include "voice/zonos/code_grid.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {
namespace {

/// The frame of `codebook` in column `column`: the delay pattern.
int64_t frame_of(int64_t codebook, int64_t column) { return column - codebook - 1; }

/// Column after the one that completes a frame, the last codebook's.
constexpr int64_t kDelay = kZonosCodebooks;

int64_t* cell(const at::Tensor& codes, int64_t codebook, int64_t index) {
  return codes.mutable_data_ptr<int64_t>() + codebook * codes.size(1) + index;
}

}  // namespace

CodeGrid::CodeGrid(const at::Tensor& prefix_KP, int64_t max_new_frames) {
  if (max_new_frames < 1) {
    throw UserError("the limit is {} frames, but must be 1 or more", max_new_frames);
  }
  if (prefix_KP.defined()) take_prefix(prefix_KP);
  limit_frame_ = end_frame_ = num_prefix_frames() + max_new_frames;
  for (int64_t i = 0; i <= num_prefix_frames(); ++i) append({});
}

void CodeGrid::take_prefix(const at::Tensor& prefix_KP) {
  if (prefix_KP.dim() != 2 || prefix_KP.size(0) != kZonosCodebooks) {
    throw UserError("codes of the audio before have shape {}, but must have {} codebooks",
                    c10::str(prefix_KP.sizes()), kZonosCodebooks);
  }
  const at::Tensor codes = prefix_KP.to(at::kCPU, at::kLong).contiguous();
  prefix_.resize(static_cast<size_t>(codes.size(1)));
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    for (int64_t frame = 0; frame < codes.size(1); ++frame) {
      const int64_t code = *cell(codes, k, frame);
      if (code < 0 || code >= kZonosEos) {
        throw UserError("codes of the audio before: {} is outside of 0..{}", code, kZonosEos - 1);
      }
      prefix_[static_cast<size_t>(frame)][static_cast<size_t>(k)] = code;
    }
  }
}

const CodeColumn& CodeGrid::column(int64_t index) const {
  PREDGEN_CHECK(index >= 0 && index < num_columns(), "column {} of {}", index, num_columns());
  return columns_[static_cast<size_t>(index)];
}

std::span<const CodeColumn> CodeGrid::last_columns(int64_t count) const {
  return std::span(columns_).last(static_cast<size_t>(std::min(count, num_columns())));
}

at::Tensor CodeGrid::first_columns(int64_t count) const {
  const at::Tensor codes = at::empty({kZonosCodebooks, count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      *cell(codes, k, i) = column(i)[static_cast<size_t>(k)];
    }
  }
  return codes;
}

bool CodeGrid::may_end() const {
  // Never in place of the first new frame: speech must have some sound.
  return !is_first() && frame_of(0, num_columns()) < end_frame_;
}

void CodeGrid::append(const CodeColumn& sampled) {
  const int64_t index = num_columns();
  if (may_end() && sampled[0] == kZonosEos) end_frame_ = frame_of(0, index);
  CodeColumn column;
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    const int64_t frame = frame_of(k, index);
    int64_t& value = column[static_cast<size_t>(k)];
    if (frame < 0 || frame > end_frame_ || frame == limit_frame_) {
      value = kZonosMask;
    } else if (frame == end_frame_) {
      value = kZonosEos;
    } else if (frame < num_prefix_frames()) {
      value = prefix_[static_cast<size_t>(frame)][static_cast<size_t>(k)];
    } else {
      value = sampled[static_cast<size_t>(k)];
      PREDGEN_CHECK(value >= 0 && value < kZonosEos, "code {} of codebook {}", value, k);
    }
  }
  columns_.push_back(column);
}

bool CodeGrid::is_complete() const { return num_columns() - kDelay >= end_frame_; }

int64_t CodeGrid::num_frames() const {
  return std::min(end_frame_, std::max(num_prefix_frames(), num_columns() - kDelay));
}

at::Tensor CodeGrid::codes(int64_t first) const {
  const int64_t count = num_frames() - first;
  PREDGEN_CHECK(first >= 0 && count >= 0, "frames from {} of {}", first, num_frames());
  const at::Tensor codes = at::empty({kZonosCodebooks, count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t frame = first + i;
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      const CodeColumn& source =
          frame < num_prefix_frames() ? prefix_[static_cast<size_t>(frame)] : column(frame + k + 1);
      *cell(codes, k, i) = source[static_cast<size_t>(k)];
    }
  }
  return codes;
}

}  // namespace predgen
