#include "voice/dac/dac_stream.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {
namespace {

constexpr double kFadeSeconds = 0.005;

}  // namespace

at::Tensor DacStream::push(const at::Tensor& codes_KN) {
  PREDGEN_CHECK(!is_over_, "frames after the end of the clip");
  const at::Tensor samples = decoder_->advance(state_, codes_KN, /*is_end=*/false);
  const int64_t begin = num_exact_;
  num_exact_ += samples.size(0);
  return take(samples, begin);
}

at::Tensor DacStream::push_to_edge(const at::Tensor& codes_KN) {
  PREDGEN_CHECK(!is_over_, "frames after the end of the clip");
  const at::Tensor samples = decoder_->advance(state_, codes_KN, /*is_end=*/false);
  const int64_t begin = num_exact_;
  num_exact_ += samples.size(0);
  DacDecoder::State end = state_;
  const at::Tensor guess = decoder_->advance(end, codes_KN.narrow(1, 0, 0), /*is_end=*/true);
  const at::Tensor fresh = take(at::cat({samples, guess}), begin);
  if (fresh.size(0) > 0) {
    is_after_edge_ = true;
    edge_sample_ = fresh[-1].item<float>();
  }
  return fresh;
}

at::Tensor DacStream::flush() {
  PREDGEN_CHECK(!is_over_, "the clip has already ended");
  is_over_ = true;
  const at::Tensor no_codes = at::empty({decoder_->config().num_codebooks, 0}, at::kLong);
  return take(decoder_->advance(state_, no_codes, /*is_end=*/true), num_exact_);
}

/// The part of `samples`, which start at sample `begin` of the clip, that was not returned before.
at::Tensor DacStream::take(const at::Tensor& samples, int64_t begin) {
  const int64_t num_old = std::min(num_samples_ - begin, samples.size(0));
  if (is_after_edge_ && num_old > 0 && begin + num_old == num_samples_) {
    edge_step_ = edge_sample_ - samples[num_old - 1].item<float>();
  }
  at::Tensor fresh = samples.narrow(0, num_old, samples.size(0) - num_old);
  if (is_after_edge_ && fresh.size(0) > 0) {
    const auto rate = static_cast<double>(decoder_->config().sample_rate);
    const auto length = std::min(fresh.size(0), static_cast<int64_t>(kFadeSeconds * rate));
    fresh = fresh.clone();
    fresh.narrow(0, 0, length).add_(at::linspace(edge_step_, 0, length)).clamp_(-1, 1);
    is_after_edge_ = false;
  }
  num_samples_ += fresh.size(0);
  return fresh;
}

}  // namespace predgen
