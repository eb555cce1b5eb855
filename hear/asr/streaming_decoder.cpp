#include "hear/asr/streaming_decoder.h"

#include <sherpa-onnx/c-api/c-api.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "hear/asr/heard_text.h"

namespace predgen::ears {
namespace {

constexpr float kEnd = 0.5f;              // seconds of silence that end a segment
constexpr int64_t kTail = kRate * 3 / 5;  // samples of padding that flush out the last word

}  // namespace

void StreamingDecoder::Delete::operator()(const SherpaOnnxOnlineStream* stream) const {
  SherpaOnnxDestroyOnlineStream(stream);
}

StreamingDecoder::StreamingDecoder(const ModelFiles& files, int num_threads) {
  const std::string encoder = files.encoder.string(), decoder = files.decoder.string(),
                    joiner = files.joiner.string(), tokens = files.tokens.string();
  SherpaOnnxOnlineRecognizerConfig config{};
  config.feat_config.sample_rate = kRate;
  config.feat_config.feature_dim = 80;
  config.model_config.transducer.encoder = encoder.c_str();
  config.model_config.transducer.decoder = decoder.c_str();
  config.model_config.transducer.joiner = joiner.c_str();
  config.model_config.tokens = tokens.c_str();
  config.model_config.num_threads = num_threads;
  config.model_config.provider = "cpu";
  config.decoding_method = "greedy_search";
  config.enable_endpoint = 1;
  config.rule1_min_trailing_silence = 2.4f;  // without a word so far
  config.rule2_min_trailing_silence = kEnd;
  config.rule3_min_utterance_length = static_cast<float>(pace().longest) / kRate;
  recogniser_ = SherpaOnnxCreateOnlineRecognizer(&config);
  if (recogniser_ == nullptr) {
    throw UserError("sherpa-onnx cannot load {}", files.encoder.parent_path().string());
  }
}

StreamingDecoder::~StreamingDecoder() {
  streams_.clear();
  SherpaOnnxDestroyOnlineRecognizer(recogniser_);
}

DecoderPace StreamingDecoder::pace() const {
  return {.period = kRate / 10, .lag = VoiceActivity::kOver};
}

void StreamingDecoder::decode_ready(const SherpaOnnxOnlineStream* stream) const {
  while (SherpaOnnxIsOnlineStreamReady(recogniser_, stream) != 0) {
    SherpaOnnxDecodeOnlineStream(recogniser_, stream);
  }
}

std::optional<Decoded> StreamingDecoder::decode(const DecodeJob& job,
                                                const std::stop_token& /*stop*/) {
  Stream& of = streams_[job.stream];
  if (of.segment != job.segment || !of.stream) {
    of = {.segment = job.segment};
    of.stream.reset(SherpaOnnxCreateOnlineStream(recogniser_));
  }
  const auto accept = [&](std::span<const float> samples) {
    SherpaOnnxOnlineStreamAcceptWaveform(of.stream.get(), kRate, samples.data(),
                                         static_cast<int32_t>(samples.size()));
    decode_ready(of.stream.get());
  };
  accept(std::span(job.sound).subspan(std::min(of.num_taken, job.sound.size())));
  of.num_taken = job.sound.size();
  Decoded decoded{.is_end = SherpaOnnxOnlineStreamIsEndpoint(recogniser_, of.stream.get()) != 0};
  if (job.need == Need::kFinal || decoded.is_end) {
    accept(std::vector<float>(static_cast<size_t>(kTail)));
    SherpaOnnxOnlineStreamInputFinished(of.stream.get());
    decode_ready(of.stream.get());
  }
  const auto* const result = SherpaOnnxGetOnlineStreamResult(recogniser_, of.stream.get());
  if (result != nullptr && result->text != nullptr) decoded.text = in_small_letters(result->text);
  SherpaOnnxDestroyOnlineRecognizerResult(result);
  return decoded;
}

}  // namespace predgen::ears
