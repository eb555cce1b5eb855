#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/eval_compare.h"
#include "cli/eval_judge.h"
#include "cli/eval_worker.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/progress.h"
#include "evaluate/report.h"
#include "evaluate/run_conversations.h"
#include "evaluate/training_overlap.h"
#include "evaluate/turn_sets.h"
#include "model/checkpoint/checkpoint.h"
#include "model/weights/weights_hash.h"
#include "runtime/speech/wav_sink.h"

namespace predgen::cli {
namespace {

constexpr const char* kExamples = R"(
Writes results.json, turns.csv and report.html into the configuration's `output` folder, and
answer.wav when it has a voice. Files of an earlier run are replaced once the new ones are complete;
other files in the folder stay. Finished turns are kept in journal.jsonl until then: the same command
goes on after a run that was killed.

Examples:
  predgen eval --config configs/eval/quickstart.yaml
  predgen eval --config configs/eval/sgd_dev.yaml turns.count=20 methods=[baseline,greedy]
  predgen eval --config configs/eval/sgd_dev.yaml clock.prices=[a5000,this_machine] workers=4
  predgen eval --compare runs/eval/before runs/eval/after --max-slower 3%
)";

/// Everything that decides what a run finds, but not how many work on it or where it is written.
std::string identity_of(const evaluate::EvalConfig& config, const evaluate::TurnSet& turns,
                        std::map<std::string, std::string> values) {
  Hasher hasher;
  hasher.add(PREDGEN_VERSION);
  std::erase_if(values, [](const auto& entry) {
    const std::string& key = entry.first;
    return key == "output" || key == "workers" || key.starts_with("training_data") ||
           key.starts_with("judge.");
  });
  for (const auto& [key, value] : values) hasher.add(key).add(value);
  for (const evaluate::EvalTurn& turn : turns.turns) {
    hasher.add(turn.id).add(turn.instruction).add(turn.prompt_text).add(turn.reference);
    hasher.add(turn.right_answer ? turn.right_answer->text : "");
    for (const Message& message : turn.history) hasher.add(message.role).add(message.content);
    for (const Transcript& heard : turn.recorded) {
      hasher.add(heard.text).add(fmt::format("{}", heard.time.count()));
    }
  }
  std::vector<std::filesystem::path> models = config.models;
  if (!config.draft_model.empty()) models.push_back(config.draft_model);
  for (const std::filesystem::path& model : models) {
    const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(model);
    hasher.add(hash_weights(checkpoint->weight_files()));
    hasher.add(checkpoint->read_tokenizer(config.chat_template).hash);
    const GenerationSettings generation = checkpoint->read_generation();
    hasher.add(generation.fields.dump()).add(fmt::format("{}", generation.stop_tokens));
  }
  if (!config.adapter.empty()) hasher.add(hash_weights(weight_files(config.adapter)));
  return hasher.hex();
}

Json describe_environment() {
  return {{"version", PREDGEN_VERSION},
          {"threads", at::get_num_threads()},
          {"hardware_threads", std::thread::hardware_concurrency()},
          {"models", Json::object()}};
}

Json describe_model(const Transformer& model) {
  return {{"device", model.device().str()},
          {"dtype", c10::toString(model.dtype())},
          {"parameters", model.config().num_parameters()}};
}

struct EvalFlags {
  bool json = false, restart = false, judge_agreed = false;
};

/// Runs every model by every price.
Json evaluate(const evaluate::EvalConfig& config, const ConfigReader& reader,
              const EvalFlags& flags, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  set_num_threads(static_cast<int>(config.threads));
  const evaluate::TurnSet turns = evaluate::load_turns(config.turns);
  const std::vector<data::PromptSet::Overlap> overlap =
      evaluate::find_training_overlap(turns, config.training_data);
  const LoadOptions load{.device = config.device,
                         .dtype = config.dtype,
                         .quantization = parse_quantization(config.quantize),
                         .width_invariant = config.width_invariant};
  const std::unique_ptr<EvalJudge> judge =
      EvalJudge::make(config, turns.turns, load, flags.judge_agreed, stop);
  std::shared_ptr<const EvalWeights> weights = load_eval_weights(config, config.models.front());
  const std::unique_ptr<const Voice> voice = make_voice(config.voice);
  make_folder(config.output);
  evaluate::Journal journal(config.output / "journal.jsonl",
                            identity_of(config, turns, reader.values()), flags.restart);
  const std::filesystem::path wav = config.output / "answer.wav";
  const std::filesystem::path unfinished_wav = config.output / "answer.wav.tmp";
  std::unique_ptr<WavSink> sink;

  const size_t num_runs = config.models.size() * config.prices.size();
  Progress progress("eval", "turns", static_cast<int64_t>(turns.turns.size() * num_runs));
  const auto name_of = [](const std::filesystem::path& model, const std::string& price) {
    return model.string() + ' ' + price;
  };
  int64_t num_done = 0;  // of all runs, before the first one goes on: they are no work of today
  for (const std::filesystem::path& model : config.models) {
    for (const std::string& price : config.prices) {
      num_done +=
          static_cast<int64_t>(evaluate::count_done_turns(turns, name_of(model, price), journal));
    }
  }
  progress.update(num_done);
  std::vector<evaluate::ReportRun> runs;
  Json environment = describe_environment();
  for (const std::filesystem::path& model : config.models) {
    if (!runs.empty()) {
      weights.reset();  // two models need not fit at once
      weights = load_eval_weights(config, model);
    }
    environment["models"][model.string()] = describe_model(*weights->base);
    for (const std::string& price_name : config.prices) {
      const std::string name = name_of(model, price_name);
      std::optional<Json> priced = journal.find("price " + name);
      if (!priced) {  // a run that goes on has the prices that it began with
        priced = to_json(price_of(price_name, config, *weights));
        journal.append("price " + name, *priced);
      }
      const evaluate::RunPrice price = evaluate::run_price_from(*priced);
      if (voice && runs.empty() && !journal.find(name + " 0")) {
        sink = std::make_unique<WavSink>(unfinished_wav, voice->sample_rate());
      }
      AudioSink* const first_answer = sink.get();
      std::atomic<int> num_workers = 0;
      const auto make_worker = [&]() -> evaluate::RunConversation {
        const auto own = num_workers++ == 0 ? weights : load_eval_weights(config, model);
        const auto worker = std::make_shared<const EvalWorker>(config, own, price, turns.turns,
                                                               voice.get(), first_answer, stop);
        return [worker, &sink](size_t begin, size_t end) {
          evaluate::EvalRun run = worker->run(begin, end);
          if (begin == 0) sink.reset();  // it holds the first answer before the journal says so
          return run;
        };
      };
      Json done = evaluate::run_conversations(turns, name, config.workers, make_worker, journal,
                                              [&](size_t num_turns) {
                                                num_done += static_cast<int64_t>(num_turns);
                                                progress.update(num_done, price_name);
                                              });
      for (const Json& failed : done["failed"]) {
        spdlog::warn("left out of every method: turn {} failed with {}: {}",
                     failed["id"].get<std::string>(), failed["method"].get<std::string>(),
                     failed["error"].get<std::string>());
      }
      if (judge) environment["judge"] = judge->judge(done["rows"]);
      runs.push_back({model, *priced, std::move(done["rows"]), std::move(done["failed"])});
    }
  }
  progress.finish();

  Json report = evaluate::make_report(
      {config.methods, turns, runs, reader.resolved(), std::move(environment), overlap});
  if (voice && std::filesystem::exists(unfinished_wav)) publish_file(unfinished_wav, wav);
  evaluate::write_report(report, config.output);
  journal.remove();
  return report;
}

}  // namespace

void add_eval(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("eval", "Compare methods side by side on the same turns");
  command->footer(kExamples);
  auto config_options = std::make_shared<ConfigOptions>();
  config_options->add_to(*command);
  command->get_option("--config")->required(false);
  auto compare = std::make_shared<EvalCompareOptions>();
  compare->add_to(*command);
  auto flags = std::make_shared<EvalFlags>();
  command->add_flag("--json", flags->json,
                    "Print results.json, or the comparison, as JSON on stdout");
  command->add_flag("--restart", flags->restart,
                    "Drop what an unfinished run has left in the output");
  command->add_flag("--judge-yes", flags->judge_agreed,
                    "Call the judge however often the estimate says (section `judge`)");
  command->callback([config_options, compare, flags, stop] {
    if (config_options->file.empty() == compare->results.empty()) {
      throw UserError("give either --config FILE or --compare A B");
    }
    if (!compare->results.empty()) {
      compare_results(*compare, flags->json);
      return;
    }
    ConfigReader reader = ConfigReader::load(config_options->file, config_options->overrides);
    const evaluate::EvalConfig config = evaluate::read_eval_config(reader);
    reader.finish();
    const Json report = evaluate(config, reader, *flags, stop);
    if (flags->json) {
      std::printf("%s\n", report.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
      return;
    }
    std::printf("%s\n", evaluate::format_table(report).c_str());
    std::printf(
        "Times are means after the last word; NFE counts forward passes to the first sentence, "
        "max(1, n);\nahead: those before the last word; wasted: drafted tokens that did not "
        "stay.\n");
    if (evaluate::any_method(config, &evaluate::Method::draft_model)) {
      std::printf(
          "+: passes of the draft model, which count by their price in \"x fewer\" and "
          "\"tokens/pass\".\n");
    }
    std::printf("Results: %s\n", (config.output / "results.json").c_str());
    std::printf("Page:    %s\n", (config.output / "report.html").c_str());
    if (config.voice.kind != VoiceKind::kNone) {
      std::printf("Audio:   %s (the first turn's answer, %s)\n",
                  (config.output / "answer.wav").c_str(), evaluate::spoken_method(config).c_str());
    }
  });
}

}  // namespace predgen::cli
