#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/eval_judge.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress.h"
#include "evaluate/decode_bytes.h"
#include "evaluate/gpu_energy.h"
#include "evaluate/report.h"
#include "evaluate/run_methods.h"
#include "model/stream_priority.h"
#include "model/weights/checkpoint.h"
#include "runtime/speech/wav_sink.h"

namespace predgen {
namespace {

constexpr const char* kExamples = R"(
Writes results.json, turns.csv and report.html into the configuration's `output` folder, and
answer.wav when it has a voice. Files of an earlier run are replaced once the new ones are complete;
other files in the folder stay.

Examples:
  predgen eval --config configs/eval/quickstart.yaml
  predgen eval --config configs/eval/sgd_dev.yaml turns.count=20 methods=[baseline,greedy]
)";

Json describe_environment(const Transformer& model, double seconds_per_draft_pass) {
  return {{"version", PREDGEN_VERSION},
          {"device", model.device().str()},
          {"dtype", c10::toString(model.dtype())},
          {"parameters", model.config().num_parameters()},
          {"seconds_per_draft_pass",
           seconds_per_draft_pass > 0 ? Json(seconds_per_draft_pass) : Json(nullptr)},
          {"threads", at::get_num_threads()},
          {"hardware_threads", std::thread::hardware_concurrency()}};
}

bool wants(const EvalConfig& config, bool Method::*adapter) {
  return std::ranges::any_of(config.methods,
                             [&](const std::string& name) { return parse_method(name).*adapter; });
}

Json evaluate(EvalConfig config, const std::string& resolved, bool judge_agreed,
              const std::stop_token& stop) {
  const c10::InferenceMode inference;
  set_num_threads(static_cast<int>(config.threads));
  const TurnSet turns = load_turns(config.turns);
  const std::vector<PromptSet::Overlap> overlap =
      find_training_overlap(turns, config.training_data);
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(config.model, config.chat_template);
  const bool drafts = wants(config, &Method::draft_model);
  if (drafts) check_draft_model(*tokenizer, config.model, config.draft_model);
  const LoadOptions load{.device = config.device,
                         .dtype = config.dtype,
                         .quantization = parse_quantization(config.quantize),
                         .width_invariant = config.width_invariant};
  const std::unique_ptr<EvalJudge> answer_judge =
      EvalJudge::make(config, turns.turns, load, judge_agreed, stop);
  const std::shared_ptr<const Transformer> base = load_model(config.model, {}, load);
  const EngineConfig engine_config{.pass_tokens = config.pass_tokens};
  Engine engine(base, engine_config);
  std::optional<Engine> adapted, judge, draft;
  if (wants(config, &Method::adapter)) {
    adapted.emplace(load_model(config.model, config.adapter, load), engine_config);
  }
  if (wants(config, &Method::judge)) {
    judge.emplace(load_model(config.model, config.judge_adapter, load), engine_config);
  }

  if (drafts) {
    LoadOptions load_draft = load;
    load_draft.width_invariant = false;  // what is drafted is checked in any case
    const std::shared_ptr<const Transformer> model = load_model(config.draft_model, {}, load_draft);
    draft.emplace(model, engine_config);
    if (config.cost == EvalCost::kTable && config.seconds_per_draft_pass == 0) {
      config.seconds_per_draft_pass = config.seconds_per_pass *
                                      decode_bytes(*model, load.quantization).per_token(0) /
                                      decode_bytes(*base, load.quantization).per_token(0);
    }
  }

  make_folder(config.output);
  const std::filesystem::path wav = config.output / "answer.wav";
  const std::filesystem::path unfinished_wav = config.output / "answer.wav.tmp";
  const std::unique_ptr<SpeechSynthesizer> voice = make_synthesizer(config.voice);
  std::unique_ptr<WavSink> sink;
  if (voice) sink = std::make_unique<WavSink>(unfinished_wav, voice->sample_rate());
  const c10::StreamGuard stream(make_stream(base->device(), StreamPriority::kHigh));

  const auto num_rows = static_cast<int64_t>(turns.turns.size() * config.methods.size());
  Progress progress("eval", "answers", num_rows);
  int64_t num_done = 0;
  EvalRun run = run_methods(
      config,
      {*tokenizer, engine, adapted ? &*adapted : nullptr, voice.get(), sink.get(), stop,
       judge ? &*judge : nullptr, draft ? &*draft : nullptr, make_energy_counter(base->device())},
      turns.turns, [&](const EvalRow& row) { progress.update(++num_done, row.method); });
  progress.finish();

  for (const FailedTurn& failed : run.failed) {
    spdlog::warn("left out of every method: turn {} failed with {}: {}",
                 turns.turns[failed.turn_index].id, failed.method, failed.error);
  }
  Json environment = describe_environment(*base, draft ? config.seconds_per_draft_pass : 0);
  if (answer_judge) environment["judge"] = answer_judge->judge(run);
  const Json report =
      make_report({config.methods, turns, run, resolved, std::move(environment), overlap});
  if (sink) {
    sink.reset();
    publish_file(unfinished_wav, wav);
  }
  write_report(report, config.output);
  return report;
}

}  // namespace

void add_eval(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("eval", "Compare methods side by side on the same turns");
  command->footer(kExamples);
  auto config_options = std::make_shared<ConfigOptions>();
  auto json = std::make_shared<bool>(false);
  auto judge_agreed = std::make_shared<bool>(false);
  config_options->add_to(*command);
  command->add_flag("--json", *json, "Print results.json on stdout instead of the table");
  command->add_flag("--judge-yes", *judge_agreed,
                    "Call the judge however often the estimate says (section `judge`)");
  command->callback([config_options, json, judge_agreed, stop] {
    ConfigReader reader = ConfigReader::load(config_options->file, config_options->overrides);
    const EvalConfig config = read_eval_config(reader);
    reader.finish();
    const Json report = evaluate(config, reader.resolved(), *judge_agreed, stop);
    if (*json) {
      std::printf("%s\n", report.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
      return;
    }
    std::printf("%s\n", format_table(report).c_str());
    std::printf(
        "Times are means after the last word; NFE counts forward passes to the first sentence, "
        "max(1, n);\nahead: those before the last word; wasted: drafted tokens that did not "
        "stay.\n");
    if (wants(config, &Method::draft_model)) {
      std::printf(
          "+: passes of the draft model, which count by their price in \"x fewer\" and "
          "\"tokens/pass\".\n");
    }
    std::printf("Results: %s\n", (config.output / "results.json").c_str());
    std::printf("Page:    %s\n", (config.output / "report.html").c_str());
    if (config.voice.kind != VoiceKind::kNone) {
      std::printf("Audio:   %s (the first turn's answer, %s)\n",
                  (config.output / "answer.wav").c_str(), spoken_method(config).c_str());
    }
  });
}

}  // namespace predgen
