#include "voice/zonos/zonos_speed.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/stop.h"
#include "voice/dac/dac_codec.h"

namespace predgen {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kPhonemes = 60, kFirstPhoneme = 28;
constexpr int kWarmUp = 3, kSteps = 15;
constexpr int64_t kPiece = 8, kPieces = 6;  // frames, as a sentence is decoded
constexpr int kClips = 3;                   // the first to warm up

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double seconds_per_step(const ZonosModel& model, const CodeGenerationConfig& config,
                        const std::stop_token& stop) {
  ZonosConditioning conditioning;
  for (int64_t i = 0; i < kPhonemes; ++i) conditioning.phoneme_ids.push_back(kFirstPhoneme + i);
  const at::Tensor prefix = model.make_prefix(conditioning);
  std::vector<double> seconds;
  const std::unique_ptr<GraphedStep> graphs = GraphedStep::make(model);
  std::optional<CodeGeneration> generation;
  for (int i = 0; i < kWarmUp + kSteps; ++i) {
    throw_if_stopped(stop);
    if (!generation || generation->is_complete()) {
      generation.emplace(model, prefix, config, at::Tensor(), graphs.get());
    }
    const auto start = SteadyClock::now();
    generation->step();
    if (i >= kWarmUp) seconds.push_back(seconds_since(start));
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

double codec_seconds(const DacDecoder& decoder, const std::stop_token& stop) {
  const DacConfig& config = decoder.config();
  const at::Tensor codes_KN = at::arange(config.num_codebooks * kPiece)
                                  .view({config.num_codebooks, kPiece})
                                  .remainder(config.codebook_size);
  double best = std::numeric_limits<double>::infinity();
  for (int clip = 0; clip < kClips; ++clip) {
    DacStream stream(decoder);
    const auto start = SteadyClock::now();
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      throw_if_stopped(stop);
      stream.push(codes_KN);
    }
    stream.flush();
    if (clip > 0) best = std::min(best, seconds_since(start));
  }
  return best;
}

}  // namespace

ZonosSpeed measure_zonos(const ZonosModel& model, const DacDecoder& decoder,
                         const CodeGenerationConfig& config, const std::stop_token& stop) {
  const DacConfig& codec = decoder.config();
  ZonosSpeed speed;
  speed.steps_per_second =
      static_cast<double>(codec.sample_rate) / static_cast<double>(codec.hop());
  speed.seconds_per_step = seconds_per_step(model, config, stop);
  speed.codec_real_time_factor =
      codec_seconds(decoder, stop) * speed.steps_per_second / static_cast<double>(kPiece * kPieces);
  return speed;
}

}  // namespace predgen
