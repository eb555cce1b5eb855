#include "audio/audio_microphone.h"

#include <fmt/ranges.h>
#include <portaudio.h>

#include <utility>

#include "audio/sample_ring.h"
#include "audio/silent_stderr.h"
#include "core/error.h"

namespace predgen {
namespace {

constexpr const char* kInsteadOfRecording =
    "use a sound file, or - for raw samples on standard input";

int on_recorded(const void* input, void*, unsigned long num_frames, const PaStreamCallbackTimeInfo*,
                PaStreamCallbackFlags, void* sound) {
  if (input != nullptr) {
    static_cast<DeviceSound*>(sound)->push({static_cast<const float*>(input), num_frames});
  }
  return paContinue;
}

/// Keeps the library initialised while it is needed.
class PortAudio {
 public:
  PortAudio() {
    const PaError error = Pa_Initialize();
    if (error != paNoError) {
      throw UserError("audio cannot be recorded here ({}): {}", Pa_GetErrorText(error),
                      kInsteadOfRecording);
    }
  }
  ~PortAudio() { Pa_Terminate(); }
  PortAudio(const PortAudio&) = delete;
  PortAudio& operator=(const PortAudio&) = delete;
};

std::vector<std::string> names_of_devices() {
  std::vector<std::string> names;
  for (PaDeviceIndex i = 0; i < Pa_GetDeviceCount(); ++i) {
    const PaDeviceInfo& device = *Pa_GetDeviceInfo(i);
    if (device.maxInputChannels > 0) names.emplace_back(device.name);
  }
  return names;
}

PaDeviceIndex find_device(const std::string& name) {
  for (PaDeviceIndex i = 0; i < Pa_GetDeviceCount(); ++i) {
    const PaDeviceInfo& device = *Pa_GetDeviceInfo(i);
    if (device.maxInputChannels == 0) continue;
    if (!name.empty() && std::string(device.name).find(name) != std::string::npos) return i;
  }
  const std::string names = fmt::format("{}", fmt::join(names_of_devices(), ", "));
  if (names.empty()) throw UserError("there is no microphone: {}", kInsteadOfRecording);
  if (!name.empty()) throw UserError("no microphone is called '{}'; there are {}", name, names);
  const PaDeviceIndex device = Pa_GetDefaultInputDevice();
  if (device == paNoDevice) {
    throw UserError("no microphone is the system's own choice; name one of {}", names);
  }
  return device;
}

class Microphone : public AudioSource {
 public:
  Microphone(const std::string& name, int preferred_rate, Clock& clock, std::stop_token stop)
      : sample_rate_(preferred_rate) {
    const PaDeviceIndex device = find_device(name);
    const PaDeviceInfo& info = *Pa_GetDeviceInfo(device);
    const PaStreamParameters parameters{.device = device,
                                        .channelCount = 1,
                                        .sampleFormat = paFloat32,
                                        .suggestedLatency = info.defaultLowInputLatency,
                                        .hostApiSpecificStreamInfo = nullptr};
    if (Pa_IsFormatSupported(&parameters, nullptr, sample_rate_) != paFormatIsSupported) {
      sample_rate_ = static_cast<int>(info.defaultSampleRate);
    }
    sound_ = std::make_unique<DeviceSound>(sample_rate_, clock, std::move(stop));
    PaError error =
        Pa_OpenStream(&stream_, &parameters, nullptr, sample_rate_, paFramesPerBufferUnspecified,
                      paNoFlag, on_recorded, sound_.get());
    if (error == paNoError) error = Pa_StartStream(stream_);
    if (error != paNoError) {
      throw UserError("the microphone '{}' does not record {} Hz ({}): {}", info.name, sample_rate_,
                      Pa_GetErrorText(error), kInsteadOfRecording);
    }
  }
  ~Microphone() override {
    Pa_AbortStream(stream_);
    Pa_CloseStream(stream_);
  }

  int sample_rate() const override { return sample_rate_; }

  std::span<const float> read() override {
    return sound_->read([this] { return Pa_IsStreamActive(stream_) == 1; });
  }

 private:
  std::unique_ptr<DeviceSound> sound_;  // until the stream is closed
  const PortAudio library_;             // closes the stream of a constructor that fails
  int sample_rate_;
  PaStream* stream_ = nullptr;
};

}  // namespace

std::vector<std::string> microphone_names() {
  const SilentStderr silence;
  try {
    const PortAudio library;
    return names_of_devices();
  } catch (const UserError&) {
    return {};
  }
}

std::unique_ptr<AudioSource> open_microphone(const std::string& device, int preferred_rate,
                                             Clock& clock, std::stop_token stop) {
  const SilentStderr silence;
  return std::make_unique<Microphone>(device, preferred_rate, clock, std::move(stop));
}

}  // namespace predgen
