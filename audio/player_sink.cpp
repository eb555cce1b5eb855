#include "audio/player_sink.h"

#include <portaudio.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "audio/silent_stderr.h"
#include "core/error.h"
#include "core/stop.h"

namespace predgen {

size_t PlaybackBuffer::push(std::span<const float> samples) {
  const size_t count = ring_.push(samples);
  expects_samples_ = true;
  return count;
}

void PlaybackBuffer::clear() {
  expects_samples_ = false;
  ring_.clear();
}

void PlaybackBuffer::fill(std::span<float> samples) {
  play(samples);
  if (played_ != nullptr) played_->add(samples);
}

void PlaybackBuffer::play(std::span<float> samples) {
  const int target = target_;
  // On the way to a pause it plays for as long as the sound is audible.
  const size_t wanted =
      target > 0 ? samples.size()
                 : std::min(samples.size(), static_cast<size_t>(std::max(level_ - 1, 0)));
  const size_t count = ring_.pop(samples.first(wanted));
  num_played_ += static_cast<int64_t>(count);
  std::ranges::fill(samples.subspan(count), 0.0f);
  if (count < wanted && expects_samples_) ++num_underruns_;
  apply_gain(samples, target);
}

void PlaybackBuffer::apply_gain(std::span<float> samples, int target) {
  if (level_ == target && target == ramp_) return;
  for (float& sample : samples) {
    level_ += std::clamp(target - level_, -1, 1);
    sample *= static_cast<float>(level_) / static_cast<float>(ramp_);
  }
}

namespace {

constexpr size_t kMaxQueued = 60 * 44'100;  // samples
constexpr const char* kInsteadOfPlaying = "use --audio-out FILE.wav or --audio-out none";

int on_played(const void*, void* output, unsigned long num_frames, const PaStreamCallbackTimeInfo*,
              PaStreamCallbackFlags, void* buffer) {
  static_cast<PlaybackBuffer*>(buffer)->fill({static_cast<float*>(output), num_frames});
  return paContinue;
}

}  // namespace

PlayerSink::PlayerSink(int preferred_rate, std::stop_token stop, PlayedSound* played)
    : sample_rate_(preferred_rate), stop_(std::move(stop)), buffer_(kMaxQueued, played) {
  const SilentStderr silence;
  PaError error = Pa_Initialize();
  if (error != paNoError) {
    throw UserError("audio cannot be played here ({}): {}", Pa_GetErrorText(error),
                    kInsteadOfPlaying);
  }
  const PaDeviceIndex device = Pa_GetDefaultOutputDevice();
  if (device == paNoDevice) {
    Pa_Terminate();
    throw UserError("there is no audio device to play on: {}", kInsteadOfPlaying);
  }
  const PaStreamParameters parameters{
      .device = device,
      .channelCount = 1,
      .sampleFormat = paFloat32,
      .suggestedLatency = Pa_GetDeviceInfo(device)->defaultLowOutputLatency,
      .hostApiSpecificStreamInfo = nullptr};
  if (Pa_IsFormatSupported(nullptr, &parameters, sample_rate_) != paFormatIsSupported) {
    sample_rate_ = static_cast<int>(Pa_GetDeviceInfo(device)->defaultSampleRate);
  }
  buffer_.set_ramp(sample_rate_ / 100);
  error = Pa_OpenStream(&stream_, nullptr, &parameters, sample_rate_, paFramesPerBufferUnspecified,
                        paNoFlag, on_played, &buffer_);
  if (error == paNoError && played != nullptr) played->begin(sample_rate_);
  if (error == paNoError) error = Pa_StartStream(stream_);
  if (error != paNoError) {
    if (played != nullptr) played->end();
    Pa_Terminate();  // closes the stream, too
    throw UserError("the audio device does not play {} Hz ({}): {}", sample_rate_,
                    Pa_GetErrorText(error), kInsteadOfPlaying);
  }
}

PlayerSink::~PlayerSink() {
  Pa_AbortStream(stream_);
  Pa_CloseStream(stream_);
  Pa_Terminate();
}

void PlayerSink::check_device() const {
  if (Pa_IsStreamActive(stream_) != 1) throw Error("the audio device has stopped");
}

void PlayerSink::wait_a_little() const {
  throw_if_stopped(stop_);
  check_device();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void PlayerSink::write(std::span<const float> samples) {
  check_device();
  while (true) {
    if (gives_up_) return;
    samples = samples.subspan(buffer_.push(samples));
    if (samples.empty()) return;
    wait_a_little();
  }
}

void PlayerSink::clear() {
  gives_up_ = false;
  buffer_.clear();
}

void PlayerSink::drain() {
  buffer_.expect_nothing();
  while (buffer_.size() > 0) wait_a_little();
  // What the device has taken is still on its way to the loudspeaker.
  std::this_thread::sleep_for(
      std::chrono::duration<double>(Pa_GetStreamInfo(stream_)->outputLatency));
}

}  // namespace predgen
