#include "voice/zonos/zonos_synthesizer.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/log.h"
#include "model/stream_priority.h"
#include "voice/clauses/spoken_pieces.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen {
namespace {

// The codec runs after 26 steps (101 ms of sound) and then every 8: often enough for a player,
// rarely enough to cost little.
constexpr int64_t kFirstDecode = 26, kDecodeEvery = 8;
// A fresh clip can start with a pop and end with a click.
constexpr double kFadeInSeconds = 0.005, kFadeOutSeconds = 0.015;
// The most frames per phoneme: three times slower than the model's usual 15 per second.
constexpr double kMaxFramesPerPhoneme = 17.0;
// Text and audio of a sentence of about 8 s: beyond that, graphs are captured on first use.
constexpr int64_t kPreparedPositions = 1024;
constexpr int64_t kMinFrameLimit = 172;  // 2 s
constexpr int64_t kFirstSound = 28;      // of the symbols

/// Half a cosine, from 0 at `position` 0 to 1 at `length`.
float fade(int64_t position, int64_t length) {
  const double x = std::min(1.0, static_cast<double>(position) / static_cast<double>(length));
  return static_cast<float>(0.5 - 0.5 * std::cos(std::numbers::pi * x));
}

}  // namespace

ZonosSynthesizer::ZonosSynthesizer(const ZonosVoice& voice)
    : voice_(voice),
      phonemizer_({.helper = voice.options().espeak_helper,
                   .english_numbers = voice.options().english_numbers,
                   .warns = false}),  // the voice has
      stream_(make_stream(voice.model().device(), StreamPriority::kLow)) {
  const c10::InferenceMode inference;
  const c10::StreamGuard stream(stream_);  // whose work will use the memory of the graphs
  graphs_ = GraphedStep::make(voice.model());
  if (graphs_) graphs_->prepare(kPreparedPositions, voice.options().generation.cfg_scale);
}

int ZonosSynthesizer::sample_rate() const { return voice_.sample_rate(); }

std::string ZonosSynthesizer::language() const { return voice_.language(); }

std::unique_ptr<Synthesis> ZonosSynthesizer::begin(const std::string& spoken) {
  return std::unique_ptr<Synthesis>(new ZonosSynthesis(*this, speech_parts(spoken)));
}

std::optional<CodeGeneration> ZonosSynthesizer::generate(const std::string& part) {
  const ZonosOptions& options = voice_.options();
  ZonosConditioning conditioning = voice_.conditioning();
  conditioning.phoneme_ids = phonemizer_.phoneme_ids(part, options.language);
  // After the marks, the symbols are letters and sounds.
  if (std::ranges::none_of(conditioning.phoneme_ids,
                           [](int64_t id) { return id >= kFirstSound; })) {
    spdlog::warn(
        "the Zonos voice has no sounds for a part of a sentence in the language {}: it is left out",
        options.language);
    return {};
  }
  CodeGenerationConfig config = options.generation;
  const auto by_text = static_cast<int64_t>(kMaxFramesPerPhoneme *
                                            static_cast<double>(conditioning.phoneme_ids.size()));
  config.max_new_frames = std::min(config.max_new_frames, kMinFrameLimit + by_text);
  return CodeGeneration(voice_.model(), voice_.model().make_prefix(conditioning), config,
                        voice_.audio_prefix_KP(), graphs_.get());
}

ZonosSynthesis::ZonosSynthesis(ZonosSynthesizer& synthesizer, std::vector<std::string> parts)
    : synthesizer_(&synthesizer), parts_(parts.begin(), parts.end()) {}

bool ZonosSynthesis::advance(std::vector<float>& samples) {
  const c10::InferenceMode inference;
  const c10::StreamGuard stream(synthesizer_->stream_);
  if (!generation_ && parts_.empty()) return false;
  ++num_steps_;
  if (generation_) {
    generation_->step();
  } else if (!start_part()) {
    return !parts_.empty();
  }
  ++part_steps_;
  if (decodes_now()) decode(samples);
  if (generation_->is_complete()) generation_.reset();
  return generation_ || !parts_.empty();
}

bool ZonosSynthesis::start_part() {
  const std::string part = std::move(parts_.front());
  parts_.pop_front();
  generation_ = synthesizer_->generate(part);
  if (!generation_) return false;
  const DacDecoder& decoder = synthesizer_->voice_.decoder();
  stream_.emplace(decoder);
  part_steps_ = num_decoded_ = num_heard_ = 0;
  num_skipped_ = generation_->num_prefix_frames() * decoder.config().hop();
  return true;
}

bool ZonosSynthesis::decodes_now() const {
  const ZonosOptions& options = synthesizer_->voice_.options();
  if (generation_->is_complete() || num_steps_ == options.ahead_steps) return true;
  if (options.edge && num_steps_ < options.ahead_steps) return false;
  return part_steps_ >= kFirstDecode && (part_steps_ - kFirstDecode) % kDecodeEvery == 0;
}

void ZonosSynthesis::decode(std::vector<float>& samples) {
  const at::Tensor codes = generation_->codes(num_decoded_);
  num_decoded_ += codes.size(1);
  const ZonosOptions& options = synthesizer_->voice_.options();
  const bool to_edge =
      options.edge && !generation_->is_complete() && num_steps_ == options.ahead_steps;
  append(to_edge ? stream_->push_to_edge(codes) : stream_->push(codes), samples);
  if (!generation_->is_complete()) return;
  const size_t tail = samples.size();
  append(stream_->flush(), samples);
  const auto length = static_cast<int64_t>(kFadeOutSeconds * synthesizer_->sample_rate());
  for (size_t i = samples.size(), left = 0; i-- > tail && std::cmp_less(left, length); ++left) {
    samples[i] *= fade(static_cast<int64_t>(left), length);
  }
  if (!generation_->ended_by_eos()) {
    spdlog::warn("the Zonos voice did not come to an end and was cut after {:.1f} s",
                 static_cast<double>(num_heard_) / synthesizer_->sample_rate());
  }
}

void ZonosSynthesis::append(const at::Tensor& pcm, std::vector<float>& samples) {
  const int64_t skipped = std::min(num_skipped_, pcm.numel());
  num_skipped_ -= skipped;
  const auto length = static_cast<int64_t>(kFadeInSeconds * synthesizer_->sample_rate());
  const float* values = pcm.const_data_ptr<float>();
  for (int64_t i = skipped; i < pcm.numel(); ++i) {
    samples.push_back(values[i] * fade(num_heard_++, length));
  }
}

}  // namespace predgen
