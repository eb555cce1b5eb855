#include "cli/machine_report.h"

#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "audio/audio_microphone.h"
#include "audio/echo/echo_canceller.h"
#include "audio/player_sink.h"
#include "cli/other_work.h"
#include "cli/voice_flags.h"
#include "core/speech_model.h"
#include "core/text.h"
#include "hear/make_recogniser.h"
#include "model/device_memory.h"
#include "model/gpu/cuda_module.h"
#include "model/gpu/gpu_support.h"
#include "voice/espeak/espeak_helper.h"

namespace predgen::cli {
namespace {

constexpr int kRate = 22050;  // Hz, of espeak-ng

/// Prints `good`, or why `use` fails.
void print_use(const char* name, const char* good, const std::function<void()>& use) {
  std::string text = good;
  try {
    use();
  } catch (const std::exception& error) {
    text = first_line(error.what());
  }
  std::printf("  %-7s %s\n", name, text.c_str());
}

}  // namespace

void print_machine() {
  const double memory = static_cast<double>(memory_size(at::kCPU)) / (1 << 30);
  std::printf("Machine\n  CPU     %u cores, %.1f GiB of memory\n",
              std::thread::hardware_concurrency(), memory);
  const OtherWork other_work;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::string warning = other_work.warning(at::get_num_threads());
  if (!warning.empty()) std::printf("          busy: %s\n", warning.c_str());
  const CudaSupport& cuda = cuda_support();
  if (!cuda.problem.empty()) {
    std::printf("  GPU     cannot be used: %s\n", cuda.problem.c_str());
  } else if (cuda.num_gpus == 0) {
    std::printf(
        "  GPU     none visible: models run on the CPU; a 7B model needs a GPU "
        "to keep up with speech,\n          and so does the Zonos voice as a rule (--tts-model "
        "measures it here)\n");
    if (!cuda.has_driver) std::printf("          there is no NVIDIA driver here\n");
  } else {
    std::printf("  GPU     %d\n", cuda.num_gpus);
    const GpuKernels* const kernels = cuda.module->kernels;
    if (!kernels) std::printf("          no kernels of ours: this was built without nvcc\n");
    for (int gpu = 0; kernels && gpu < cuda.num_gpus; ++gpu) {
      const std::string problem = kernel_problem(kernels->support(gpu));
      if (!problem.empty()) std::printf("          GPU %d: %s\n", gpu, problem.c_str());
    }
  }
  print_use("Ears", "speech is understood (predgen talk)", [] { recognisers_named("base"); });
  const std::vector<std::string> microphones = microphone_names();
  std::printf("  Mics    %s\n",
              microphones.empty()
                  ? "none: predgen talk needs one, or --input FILE.wav"
                  : fmt::format("{} (predgen talk --input mic:NAME)", fmt::join(microphones, ", "))
                        .c_str());
  print_use("Sound", "answers can be played", [] { PlayerSink(kRate, {}); });
  std::printf("  Echo    %s\n", has_echo_canceller()
                                    ? "answers on a loudspeaker can be interrupted (predgen talk)"
                                    : "not taken out: predgen talk hears nothing while it answers, "
                                      "but with --headphones (no speexdsp where this was built)");
  const std::string voice = best_voice();
  print_use("Voice", voice == "hibari" ? "hibari speaks the answers, in English" : voice.c_str(),
            [&] { speech_model("hibari"); });
  print_use("espeak", "answers can be spoken in a hundred languages (--tts espeak)",
            [] { EspeakHelper({}, Seconds(5), "--tts").start(); });
}

}  // namespace predgen::cli
