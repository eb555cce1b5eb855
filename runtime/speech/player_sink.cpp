#include "runtime/speech/player_sink.h"

#include <fcntl.h>
#include <portaudio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "core/error.h"
#include "core/interrupt.h"

namespace predgen {
namespace {

constexpr int kRingSeconds = 60;
constexpr const char* kInstead = "use --audio-out FILE.wav or --audio-out none";

/// ALSA and JACK tell stderr about every device that they do not find.
class SilentStderr {
 public:
  SilentStderr() {
    std::fflush(stderr);
    saved_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
      dup2(nowhere, STDERR_FILENO);
      close(nowhere);
    }
  }
  ~SilentStderr() {
    if (saved_ < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
  }
  SilentStderr(const SilentStderr&) = delete;
  SilentStderr& operator=(const SilentStderr&) = delete;

 private:
  int saved_ = -1;
};

int on_device(const void*, void* output, unsigned long num_frames, const PaStreamCallbackTimeInfo*,
              PaStreamCallbackFlags, void* sink) {
  static_cast<PlayerSink*>(sink)->fill({static_cast<float*>(output), num_frames});
  return paContinue;
}

}  // namespace

PlayerSink::PlayerSink(int sample_rate)
    : ring_(static_cast<size_t>(sample_rate) * static_cast<size_t>(kRingSeconds)) {
  const SilentStderr silence;
  PaError error = Pa_Initialize();
  if (error != paNoError) {
    throw UserError("audio cannot be played here ({}): {}", Pa_GetErrorText(error), kInstead);
  }
  const PaDeviceIndex device = Pa_GetDefaultOutputDevice();
  if (device == paNoDevice) {
    Pa_Terminate();
    throw UserError("there is no audio device to play on: {}", kInstead);
  }
  const PaStreamParameters parameters{
      .device = device,
      .channelCount = 1,
      .sampleFormat = paFloat32,
      .suggestedLatency = Pa_GetDeviceInfo(device)->defaultLowOutputLatency,
      .hostApiSpecificStreamInfo = nullptr};
  error = Pa_OpenStream(&stream_, nullptr, &parameters, sample_rate, paFramesPerBufferUnspecified,
                        paNoFlag, on_device, this);
  if (error == paNoError) error = Pa_StartStream(stream_);
  if (error != paNoError) {
    Pa_Terminate();  // closes the stream, too
    throw UserError("the audio device does not play {} Hz ({}): {}", sample_rate,
                    Pa_GetErrorText(error), kInstead);
  }
}

PlayerSink::~PlayerSink() {
  Pa_AbortStream(stream_);
  Pa_CloseStream(stream_);
  Pa_Terminate();
}

void PlayerSink::fill(std::span<float> samples) {
  const size_t count = ring_.pop(samples);
  std::fill(samples.begin() + static_cast<std::ptrdiff_t>(count), samples.end(), 0.0f);
  if (count < samples.size() && expects_samples_) ++num_underruns_;
}

void PlayerSink::wait_a_little() const {
  throw_if_interrupted();
  if (Pa_IsStreamActive(stream_) != 1) throw Error("the audio device has stopped");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void PlayerSink::write(std::span<const float> samples) {
  while (true) {
    samples = samples.subspan(ring_.push(samples));
    expects_samples_ = true;
    if (samples.empty()) return;
    wait_a_little();
  }
}

void PlayerSink::clear() {
  expects_samples_ = false;
  ring_.clear();
}

void PlayerSink::drain() {
  expects_samples_ = false;
  while (ring_.size() > 0) wait_a_little();
  // What the device has taken is still on its way to the loudspeaker.
  std::this_thread::sleep_for(
      std::chrono::duration<double>(Pa_GetStreamInfo(stream_)->outputLatency));
}

}  // namespace predgen
