#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "cli/bench_command.h"
#include "cli/bench_conditions.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "evaluate/statistics.h"
#include "text/spoken/speech_text.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen::cli {
namespace {

constexpr const char* kBenchExamples = R"(
--model: prefill reads a prompt of random ids at once; decode gives one token a pass after it, and
its bytes are the weights, keys and values that each token reads, set against the fastest sum over
a large buffer on the same device. Verify runs a whole draft in one pass: as long as that costs
fewer steps than it keeps tokens, speculation pays. Jacobi answers questions with the model (and
its adapter), as acceptance depends on the text; it pays if it is above 1 x a token a pass. The
first token counts from the start of the program: libraries, weights and one short prompt.

--tts: real-time factor: seconds of work for a second of sound; below 1 the voice keeps up. The
first audio is that of a sentence nobody prepared. Buffer ready: when what is synthesised ahead is
there.

Examples:
  predgen bench --model checkpoints/demo --adapter checkpoints/demo-cllm
  predgen bench --model Qwen2.5-7B-Instruct --quantize int8 --prompt 2048 --draft 8,16,32 --json
  predgen bench --tts espeak
  predgen bench --tts zonos --tts-model Zonos-v0.1-transformer --runs 10 --json
)";

struct BenchOptions {
  ModelBench model;
  VoiceBench voice;
  int64_t runs = 5;
  bool json = false;
};

void refuse_without(const CLI::App& command, const char* needed,
                    const std::vector<const char*>& flags) {
  for (const char* flag : flags) {
    if (command.count(flag) > 0) throw UserError("{} needs {}", flag, needed);
  }
}

void bench(const CLI::App& command, BenchOptions options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  options.model.startup = seconds_since_start();
  const bool has_voice = options.voice.voice.tts != "none";
  const bool has_model = !options.model.model.model.empty();
  if (!has_model && !has_voice) {
    throw UserError("nothing to measure: give --model DIR, or --tts hibari, or both");
  }
  if (!has_model) {
    refuse_without(command, "--model",
                   {"--adapter", "--device", "--dtype", "--quantize", "--state-memory", "--prompt",
                    "--generate", "--draft", "--input", "--chat-template"});
  }
  if (!has_voice) refuse_without(command, "--tts", {"--text", "--voice"});
  set_num_threads(options.model.model.threads);
  options.model.speed.runs = options.runs;
  const OtherWork other_work;
  Json report = Json::object();
  // The voice first, which is quicker: its errors are reported before a model is
  // measured.
  if (has_voice) report["voice"] = bench_voice(options.voice, options.runs, !options.json, stop);
  if (has_model && has_voice && !options.json) std::printf("\n");
  if (has_model) report["model"] = bench_model(options.model, !options.json, stop);
  if (options.json) std::printf("%s\n", to_text(report).c_str());
  const std::string warning = other_work.warning(at::get_num_threads());
  if (!warning.empty()) spdlog::warn("{}", warning);
}

}  // namespace

void add_bench(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command =
      app.add_subcommand("bench", "How fast a language model or a voice is on this machine");
  command->footer(kBenchExamples);
  auto options = std::make_shared<BenchOptions>();
  options->model.add_to(*command);
  options->voice.add_to(*command);
  command->add_option("--runs", options->runs, "Counted ones, after one to warm up")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON document on stdout");
  command->callback([command, options, stop] { bench(*command, *options, stop); });
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct VoiceRun {
  double first_audio = 0, buffer_ready = 0, work = 0, audio = 0;  // s
  int64_t steps = 0;
};

VoiceRun speak(SpeechSynthesizer& voice, const AheadBuffer& ahead, const std::string& text,
               const std::stop_token& stop) {
  VoiceRun run;
  std::vector<float> samples;
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Synthesis> synthesis = voice.begin(speakable_text(text, voice.language()));
  for (bool more = true; more; ++run.steps) {
    throw_if_stopped(stop);
    more = synthesis->advance(samples);
    run.work = seconds_since(start);
    if (run.first_audio == 0 && !samples.empty()) run.first_audio = run.work;
    const bool is_ready =
        !more || ahead.is_full(run.steps + 1, samples.size(), voice.sample_rate());
    if (run.buffer_ready == 0 && is_ready) run.buffer_ready = run.work;
  }
  if (samples.empty()) throw UserError("--text '{}': the voice finds nothing to say in it", text);
  run.audio = static_cast<double>(samples.size()) / voice.sample_rate();
  return run;
}

}  // namespace

void VoiceBench::add_to(CLI::App& command) {
  voice.add_to(command);
  command.add_option("--text", text, "--tts: the sentence")->capture_default_str();
}

Json bench_voice(const VoiceBench& options, int64_t runs, bool print_table,
                 const std::stop_token& stop) {
  const VoiceOptions voice_options = options.voice.parse();
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<const Voice> voice = make_voice(voice_options);
  PREDGEN_CHECK(voice, "no voice to measure");
  const std::unique_ptr<SpeechSynthesizer> synthesizer = voice->synthesizer();
  const double load = seconds_since(start);
  const AheadBuffer ahead = voice->ahead_buffer();
  speak(*synthesizer, ahead, options.text, stop);  // warm-up
  std::map<std::string, std::vector<std::optional<double>>> values;
  for (int64_t i = 0; i < runs; ++i) {
    const VoiceRun run = speak(*synthesizer, ahead, options.text, stop);
    values["first_audio"].push_back(run.first_audio);
    values["buffer_ready"].push_back(run.buffer_ready);
    values["audio"].push_back(run.audio);
    values["real_time_factor"].push_back(run.work / run.audio);
    values["seconds_per_step"].push_back(run.work / static_cast<double>(run.steps));
  }
  Json report{{"tts", options.voice.tts}, {"runs", runs}, {"load", load}};
  for (const auto& [name, list] : values) {
    const evaluate::Summary summary = evaluate::summarize(list);
    report[name] = {{"mean", *summary.mean}, {"p50", *summary.p50}, {"p90", *summary.p90}};
  }
  if (const auto* zonos = dynamic_cast<const ZonosVoice*>(voice.get())) {
    const ZonosSpeed speed = zonos->measure(stop);
    report["seconds_per_column"] = speed.seconds_per_step;
    report["codec_real_time_factor"] = speed.codec_real_time_factor;
  }
  if (!print_table) return report;
  const auto line = [&](const char* title, const char* name, double scale, const char* unit) {
    const Json& summary = report.at(name);
    std::printf("%-18s %9.3g %9.3g %9.3g  %s\n", title, summary.at("mean").get<double>() * scale,
                summary.at("p50").get<double>() * scale, summary.at("p90").get<double>() * scale,
                unit);
  };
  std::printf("%s, loaded in %.2f s; %d sentences after one to warm up\n",
              options.voice.tts.c_str(), load, static_cast<int>(runs));
  std::printf("%-18s %9s %9s %9s\n", "", "mean", "P50", "P90");
  line("first audio", "first_audio", 1e3, "ms");
  line("buffer ready", "buffer_ready", 1e3, "ms");
  line("step", "seconds_per_step", 1e3, "ms");
  line("audio", "audio", 1, "s");
  line("real-time factor", "real_time_factor", 1, "");
  if (report.contains("seconds_per_column")) {
    std::printf("%-18s %9.3g ms without the codec, whose real-time factor is %.3g\n", "step",
                report["seconds_per_column"].get<double>() * 1e3,
                report["codec_real_time_factor"].get<double>());
  }
  return report;
}

}  // namespace predgen::cli
