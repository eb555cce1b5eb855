#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "audio/audio_microphone.h"
#include "audio/echo/echo_canceller.h"
#include "audio/player_sink.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/model_weights.h"
#include "cli/bench_conditions.h"
#include "cli/command.h"
#include "cli/measured_models.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "core/json.h"
#include "core/model_names.h"
#include "core/text.h"
#include "hear/make_recogniser.h"
#include "model/cpu/cpu_pass.h"
#include "model/device_memory.h"
#include "model/gpu/cuda_module.h"
#include "model/gpu/gpu_pass.h"
#include "model/gpu/gpu_support.h"
#include "model/load_options.h"
#include "model/memory_estimate.h"
#include "model/model_config.h"
#include "model/state_history.h"
#include "text/tokenizer.h"
#include "voice/dac/dac_weights.h"
#include "voice/espeak/espeak_helper.h"
#include "voice/zonos/zonos_model.h"
#include "voice/zonos/zonos_voice.h"

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

/// What `predgen doctor` says of the machine: processor, memory, GPUs, loudspeaker and espeak-ng.
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

}  // namespace

namespace fs = std::filesystem;
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kWorkspaceBytes = 1.5 * kGiB;  // CUDA context, activations, fragmentation

struct DoctorOptions {
  std::string model, tts_model, tts_codec;
  std::optional<double> memory_gib;  // of a GPU on another machine
  int64_t context = 8192;            // at most the model's own
};

/// Prints one line for each file; counts required ones that fail.
class FileReport {
 public:
  void line(const CheckpointFile& file) {
    std::printf("  %-32s %s\n", file.name.c_str(), file.state.c_str());
    if (file.is_missing) ++num_missing_;
  }
  /// Prints one line for what `open` opens, or what is wrong with it.
  void check(const std::string& name, const std::function<void()>& open) {
    try {
      open();
      line({name, "ok"});
    } catch (const UserError& error) {
      problem(error.what());
    }
  }
  void problem(const std::string& text) {
    std::printf("  %s\n", text.c_str());
    ++num_missing_;
  }
  int num_missing() const { return num_missing_; }

 private:
  int num_missing_ = 0;
};

void report_files(const Checkpoint& checkpoint, const ModelConfig& config, FileReport& report) {
  for (CheckpointFile file : checkpoint.check_files()) {
    const bool is_tokenizer = file.name == "tokenizer.json" && file.is_missing;
    if (config.assistant && is_tokenizer) {
      file = {file.name, "none: that of the model that it guesses for"};
    }
    report.line(file);
  }
  if (!checkpoint.has_tokenizer()) return;
  try {
    const auto tokenizer = load_tokenizer(checkpoint.read_tokenizer({}));
    report.line({"tokenizer", fmt::format("ok, {} ids", tokenizer->vocab_size())});
    tokenizer->render_chat({{"user", "hello"}}, true);
    report.line({"chat template", "ok"});
  } catch (const UserError& error) {
    report.problem(error.what());
  }
}

void print_memory(const ModelConfig& config, const DoctorOptions& options, bool has_mtp) {
  const double kv = static_cast<double>(kv_bytes_per_token(config));
  std::printf("Memory, GiB (bfloat16 activations)\n");
  std::printf("  %-44s %8s %8s %8s\n", "", "bf16", "int8", "int4");
  std::vector<double> weights;
  constexpr Quantization kKinds[] = {Quantization::kNone, Quantization::kInt8, Quantization::kInt4};
  for (const Quantization kind : kKinds) {
    weights.push_back(static_cast<double>(weight_bytes(config, kind)));
  }
  const auto row = [&](const std::string& title, double constant, bool with_weights) {
    std::printf("  %-44s", title.c_str());
    for (const double bytes : weights) {
      std::printf(" %8.2f", (constant + (with_weights ? bytes : 0.0)) / kGiB);
    }
    std::printf("\n");
  };
  const int64_t context = std::min(options.context, config.context_length());
  const int64_t num_snapshots = max_snapshots(snapshot_bytes(config));
  const double snapshots =
      static_cast<double>(num_snapshots) * static_cast<double>(snapshot_bytes(config));
  const double used = kv * static_cast<double>(context) + snapshots;
  row("weights", 0.0, true);
  if (config.num_active_parameters() < config.num_parameters()) {
    std::printf("  %-44s", "of these, read for a token");
    for (const Quantization kind : kKinds) {
      std::printf(" %8.2f", static_cast<double>(weight_bytes(config, kind, 2, true)) / kGiB);
    }
    std::printf("\n");
  }
  row("keys and values of 1,000 tokens", 1000 * kv, false);
  if (snapshots > 0) {
    row(fmt::format("{} snapshots of states, {} bytes each", num_snapshots, snapshot_bytes(config)),
        snapshots, false);
  }
  row(fmt::format("with {} tokens", context), used, true);
  if (has_mtp) {
    std::printf("  %-44s", "beside it, to draft with (--draft-model own)");
    const auto tokens =
        static_cast<double>(mtp_bytes_per_token(config)) * static_cast<double>(context);
    for (const Quantization kind : kKinds) {
      std::printf(" %8.2f", (static_cast<double>(mtp_bytes(config, kind)) + tokens) / kGiB);
    }
    std::printf("\n");
  }
  const at::Device device = parse_device("auto");
  const bool is_gpu = options.memory_gib || !device.is_cpu();  // which has room for the voice, too
  const double beside = used + (is_gpu ? kZonosBytes + kWorkspaceBytes : 0.0);
  if (is_gpu) row("beside Zonos, with caches and workspace", beside, true);
  const double room =
      options.memory_gib ? *options.memory_gib * kGiB : static_cast<double>(memory_size(device));
  std::printf("  %-44s", fmt::format("fits into {:.3g} GiB{}", room / kGiB,
                                     is_gpu ? "" : ", the memory of this machine")
                             .c_str());
  for (const double bytes : weights) std::printf(" %8s", beside + bytes <= room ? "yes" : "no");
  std::printf("\n");
}

double mebibytes(double bytes) { return bytes / (1024.0 * 1024.0); }

/// How fast the voice is here, and what that means. In 8 bits on a CPU, which is the fastest there.
void report_voice_speed(const ZonosOptions& voice, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  LoadOptions load = voice.load;
  if (parse_device(load.device).is_cpu()) {
    load.dtype = "bf16";
    load.quantization = Quantization::kInt8;
  }
  const auto model = ZonosModel::load(voice.model, load);
  const DacDecoder decoder{DacWeights(voice.codec_folder(), model->device())};
  const ZonosSpeed speed = measure_zonos(*model, decoder, voice.generation, stop);
  const double factor = speed.real_time_factor();
  if (model->device().is_cpu()) {
    std::printf("Speed on the CPU, in 8 bits (quantize: int8), %d threads, by itself\n",
                at::get_num_threads());
  } else {
    std::printf("Speed on the GPU, by itself\n");
  }
  std::printf("  step     %.3g ms, and %.1f of them speak a second: %.3g s\n",
              speed.seconds_per_step * 1e3, speed.steps_per_second,
              speed.seconds_per_step * speed.steps_per_second);
  std::printf("  codec    %.3g s for a second of sound\n", speed.codec_real_time_factor);
  if (factor < 1) {
    std::printf("  Zonos keeps up here: %.3g s of work for a second of sound\n", factor);
  } else {
    std::printf(
        "  Zonos does not keep up here: %.3g s of work for a second of sound; use --tts hibari\n",
        factor);
  }
}

void report_voice(const DoctorOptions& options, const std::stop_token& stop) {
  std::printf("Voice %s\n", options.tts_model.c_str());
  const ZonosConfig config = ZonosConfig::load(options.tts_model);
  const double parameters = static_cast<double>(num_values(config.weight_layout()));
  std::printf("  Zonos: %lld layers, width %lld, %.1f M parameters: %.0f MiB in bf16\n",
              static_cast<long long>(config.num_layers), static_cast<long long>(config.width),
              parameters / 1e6, mebibytes(2 * parameters));
  FileReport report;
  report.check("model.safetensors", [&] { open_zonos_weights(config, options.tts_model); });
  ZonosOptions voice;
  voice.model = options.tts_model;
  voice.codec = options.tts_codec;
  const fs::path codec = voice.codec_folder();
  if (!fs::exists(codec / "config.json")) {
    report.problem(fmt::format("{:<32} MISSING: put descript/dac_44khz there or give --tts-codec",
                               codec.string()));
  } else {
    report.check("codec", [&] {
      ZonosVoice::check_codec(codec);
      const DacWeights weights(codec);
      std::printf(
          "  its codec: %.0f MiB in fp32\n",
          mebibytes(4 * static_cast<double>(num_values(dac_weight_layout(weights.config())))));
    });
  }
  report.check("predgen-espeak", [] { EspeakHelper({}, Seconds(5), "the Zonos voice").start(); });
  std::fflush(stdout);  // before the error
  if (report.num_missing() > 0) {
    throw UserError("{}: {} of the things above are missing or unusable", options.tts_model,
                    report.num_missing());
  }
  report_voice_speed(voice, stop);
}

/// The types in which weights are stored and run.
void print_stored(const Checkpoint& checkpoint) {
  const std::unique_ptr<const StoredTensors> tensors = checkpoint.open_tensors();
  const std::vector<std::string> names = tensors->names();
  bool is_coded = false;
  int64_t bytes = 0;  // on a CPU
  for (const std::string& name : names) {
    const std::optional<CodeLayout> layout = tensors->code_layout(name);
    const int64_t count = num_values({{.name = name, .shape = tensors->shape(name).shape}});
    bytes += layout ? QuantizedWeight::stored_bytes(*layout, count, at::kCPU) : 2 * count;
    is_coded = is_coded || layout;
  }
  const std::string coded = fmt::format("so, in {:.3g} GiB (--dtype fp32 or bf16 unpacks it)",
                                        static_cast<double>(bytes) / kGiB);
  const int64_t num_parameters = checkpoint.read_config().num_parameters();
  const auto embedding = std::ranges::find(names, kEmbeddingName);  // as load_model()
  const bool is_bfloat16 = embedding != names.end() && cpu_dtype(tensors->shape(*embedding).dtype,
                                                                 num_parameters) == at::kBFloat16;
  std::printf("Stored in %s; runs %s\n", checkpoint.read_label().type.c_str(),
              is_coded      ? coded.c_str()
              : is_bfloat16 ? "in bf16 (--dtype fp32 takes twice the memory)"
                            : "in fp32 on a CPU, in bf16 on a GPU (--dtype changes that)");
}

/// What passes run on, and why not on our kernels.
void print_passes(const char* device, const std::string& refusal) {
  std::printf("  passes on %s: %s\n", device,
              refusal.empty() ? "our kernels" : ("LibTorch's operators: " + refusal).c_str());
}

void run_doctor(const DoctorOptions& options, const std::stop_token& stop) {
  if (options.memory_gib && !(*options.memory_gib > 0)) {
    throw UserError("--memory {}: must be above 0", *options.memory_gib);
  }
  if (options.context < 1) throw UserError("--context {}: must be above 0", options.context);
  print_machine();
  if (!options.tts_model.empty()) report_voice(options, stop);
  if (options.model.empty()) {
    if (options.tts_model.empty()) {
      std::fputs(describe_suiting(measure_models()).c_str(), stdout);
    }
    return;
  }
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model);
  const ModelConfig config = checkpoint->read_config();
  std::printf("Model %s\n", checkpoint->name().c_str());
  std::printf("  %s: %lld layers, hidden size %lld, %lld:%lld heads of %lld, vocabulary %lld\n",
              config.architecture.c_str(), static_cast<long long>(config.num_layers()),
              static_cast<long long>(config.hidden_size), static_cast<long long>(config.num_heads),
              static_cast<long long>(config.num_kv_heads), static_cast<long long>(config.head_dim),
              static_cast<long long>(config.vocab_size));
  const auto millions = [](int64_t count) { return static_cast<double>(count) / 1e6; };
  const int64_t active = config.num_active_parameters();
  const bool reads_a_part = active < config.num_parameters();
  std::printf(
      "  %.1f M parameters%s, context of %lld tokens\n", millions(config.num_parameters()),
      reads_a_part ? fmt::format(", {:.1f} M of them for a token", millions(active)).c_str() : "",
      static_cast<long long>(config.context_length()));
  print_passes("a CPU", CpuPass::refusal(config));
  print_passes("a GPU", GpuPass::refusal(config));
  std::printf("Files\n");
  FileReport report;
  report_files(*checkpoint, config, report);
  if (report.num_missing() == 0) print_stored(*checkpoint);
  const bool has_mtp =
      report.num_missing() == 0 && has_mtp_weights(*checkpoint->open_tensors(), config);
  print_memory(config, options, has_mtp);
  std::fflush(stdout);  // before the error
  if (report.num_missing() > 0) {
    throw UserError("{}: {} of the things above are missing or unusable", checkpoint->name(),
                    report.num_missing());
  }
}

}  // namespace

void add_doctor(CLI::App& app, const std::stop_token& stop) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor", "What this machine has; whether a model is whole and fits, and a voice keeps up");
  command->add_option("--model", options->model, kModelHelp);
  command->add_option(
      "--memory", options->memory_gib,
      "GiB of a GPU to fit into; default: this machine's GPU, or without one its memory");
  command->add_option("--context", options->context, "tokens of conversation to keep")
      ->capture_default_str();
  command->add_option("--tts-model", options->tts_model, "Zonos voice folder: it is measured, too");
  command->add_option("--tts-codec", options->tts_codec, "its codec; dac_44khz in it if absent");
  command->footer("Example:\n  predgen doctor --model checkpoints/demo");
  command->callback([options, stop] { run_doctor(*options, stop); });
}

}  // namespace predgen::cli
