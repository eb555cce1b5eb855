#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <cstdio>
#include <memory>

#include "cli/bench_command.h"
#include "cli/model_setup.h"
#include "cli/other_work.h"
#include "cli/start_time.h"
#include "core/error.h"
#include "core/log.h"

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

}  // namespace predgen::cli
