#include "evaluate/run_evaluation.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "audio/audio_sink.h"
#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/mutex.h"
#include "core/progress.h"
#include "evaluate/eval_worker.h"
#include "evaluate/report.h"
#include "evaluate/tool_turns.h"
#include "evaluate/training_overlap.h"
#include "evaluate/turn_rows.h"
#include "evaluate/turn_sets.h"
#include "model/weights/weight_files.h"

namespace predgen::evaluate {
namespace {

constexpr const char* kIdentity = "identity";

}  // namespace

Journal::Journal(std::filesystem::path file, const std::string& identity, bool restart)
    : file_(std::move(file)) {
  if (restart) std::filesystem::remove(file_);
  if (std::filesystem::exists(file_)) read();
  const auto there = parts_.find(kIdentity);
  if (there != parts_.end() && there->second != identity) {
    throw UserError(
        "{} is of an unfinished run with another configuration, set or weights: finish that one, "
        "choose another output, or drop it with --restart",
        file_.string());
  }
  stream_.open(file_, std::ios::binary | std::ios::app);
  if (there == parts_.end()) append(kIdentity, identity);
}

void Journal::read() {
  const std::string text = read_file(file_);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const Json line = parse_json(std::string_view(text).substr(begin, end - begin), file_.string());
    parts_[json_get<std::string>(line, "key", file_.string())] =
        json_get<Json>(line, "value", file_.string());
    begin = end + 1;
  }
  std::filesystem::resize_file(file_, begin);
}

std::optional<Json> Journal::find(const std::string& key) const {
  const Lock lock(mutex_);
  const auto part = parts_.find(key);
  return part == parts_.end() ? std::nullopt : std::optional(part->second);
}

void Journal::append(const std::string& key, const Json& value) {
  const std::string text = to_text(value);
  const Lock lock(mutex_);
  stream_ << R"({"key":)" << to_text(Json(key)) << R"(,"value":)" << text << "}\n" << std::flush;
  if (!stream_) throw Error("{} cannot be written: is the disk full?", file_.string());
  parts_[key] = parse_json(text, key);  // the same as if it was read back
}

void Journal::remove() {
  const Lock lock(mutex_);
  stream_.close();
  std::filesystem::remove(file_);
}

namespace {

/// Calls `work` on `num_threads` threads and waits for them; throws what the first one threw.
void run_threads(int64_t num_threads, const std::function<void()>& work) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(num_threads));
  {
    std::vector<std::jthread> threads;
    for (std::exception_ptr& error : errors) {
      threads.emplace_back([&work, &error] {
        try {
          work();
        } catch (...) {
          error = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

std::string key_of(const std::string& name, size_t begin) {
  return fmt::format("{} {}", name, begin);
}

}  // namespace

size_t count_done_turns(const TurnSet& set, const std::string& name, const Journal& journal) {
  const std::vector<size_t> bounds = conversation_bounds(set.turns);
  size_t num_done = 0;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (journal.find(key_of(name, bounds[i]))) num_done += bounds[i + 1] - bounds[i];
  }
  return num_done;
}

Json run_conversations(const TurnSet& set, const std::string& name, int64_t num_workers,
                       const std::function<RunConversation()>& make_worker, Journal& journal,
                       const std::function<void(size_t num_turns)>& on_done) {
  const std::vector<size_t> bounds = conversation_bounds(set.turns);
  const auto key = [&](size_t i) { return key_of(name, bounds[i]); };
  std::vector<size_t> missing;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (!journal.find(key(i))) missing.push_back(i);
  }
  Mutex telling;  // guards on_done()
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    const RunConversation run = make_worker();
    try {
      for (size_t place = next++; place < missing.size(); place = next++) {
        const size_t i = missing[place];
        journal.append(key(i), to_json(run(bounds[i], bounds[i + 1]), set));
        const Lock lock(telling);
        on_done(bounds[i + 1] - bounds[i]);
      }
    } catch (...) {
      next = missing.size();  // no thread begins another one
      throw;
    }
  };
  const auto num_missing = static_cast<int64_t>(missing.size());
  if (num_missing > 0) run_threads(std::min(num_workers, num_missing), work);

  Json all{{"rows", Json::array()}, {"failed", Json::array()}};
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const Json part = journal.find(key(i)).value();
    for (const char* list : {"rows", "failed"}) {
      all[list].insert(all[list].end(), part.at(list).begin(), part.at(list).end());
    }
  }
  if (all["rows"].empty()) {
    journal.remove();  // it is of no use to a run with another configuration
    const Json& first = all["failed"].at(0);
    throw UserError("every turn failed; turn {} with {}: {}", first["id"].get<std::string>(),
                    first["method"].get<std::string>(), first["error"].get<std::string>());
  }
  return all;
}

namespace {

/// Everything that decides a run's results, but not its number of workers or its output folder.
std::string identity_of(const EvalConfig& config, const TurnSet& turns, const std::string& version,
                        std::map<std::string, std::string> values) {
  Hasher hasher;
  hasher.add(version);
  for (const std::string& metric : metric_names()) hasher.add(metric);
  std::erase_if(values, [](const auto& entry) {
    const std::string& key = entry.first;
    return key == "output" || key == "workers" || key.starts_with("training_data");
  });
  for (const auto& [key, value] : values) hasher.add(key).add(value);
  for (const EvalTurn& turn : turns.turns) {
    hasher.add(turn.id).add(turn.instruction).add(turn.prompt_text).add(turn.reference);
    hasher.add(turn.source).add(turn.right_answer ? turn.right_answer->text : "");
    if (turn.right_call) hasher.add(call_text(*turn.right_call));
    for (const Message& message : turn.history) hasher.add(message.role).add(message.content);
    for (const Transcript& heard : turn.recorded) {
      hasher.add(heard.text).add(fmt::format("{}", heard.time.count()));
    }
  }
  if (!turns.tools.empty()) hasher.add(read_file(config.turns.tools_file));
  for (const std::filesystem::path& model : config.models) {
    const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(model);
    hasher.add(hash_weights(checkpoint->weight_files()));
    hasher.add(checkpoint->read_tokenizer(config.chat_template).hash);
    const GenerationSettings generation = checkpoint->read_generation();
    hasher.add(generation.fields.dump()).add(fmt::format("{}", generation.stop_tokens));
  }
  if (!config.draft_model.empty() && config.draft_model != kOwnLayer) {
    hasher.add(hash_weights(open_checkpoint(config.draft_model)->weight_files()));
  }
  if (!config.adapter.empty()) hasher.add(hash_weights(weight_files(config.adapter)));
  if (any_method(config, &Method::past_answers)) {
    const std::filesystem::path& past = config.past_answers;
    hasher.add(read_file(std::filesystem::is_directory(past) ? past / "manifest.json" : past));
  }
  return hasher.hex();
}

Json describe_environment(const std::string& version) {
  return {{"version", version},
          {"threads", at::get_num_threads()},
          {"hardware_threads", std::thread::hardware_concurrency()},
          {"models", Json::object()}};
}

Json describe_model(const Transformer& model) {
  return {{"device", model.device().str()},
          {"dtype", c10::toString(model.dtype())},
          {"parameters", model.config().num_parameters()}};
}

}  // namespace

Json run_evaluation(const EvalConfig& config, const ConfigReader& reader, const RunOptions& options,
                    const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const TurnSet turns = load_turns(config.turns);
  const std::vector<data::PromptSet::Overlap> overlap =
      find_training_overlap(turns, config.training_data);
  std::shared_ptr<const EvalWeights> weights = load_eval_weights(config, config.models.front());
  const std::unique_ptr<const Voice> voice = make_voice(config.voice);
  make_folder(config.output);
  Journal journal(config.output / "journal.jsonl",
                  identity_of(config, turns, options.version, reader.values()), options.restart);
  const std::filesystem::path wav = config.output / "answer.wav";
  const std::filesystem::path unfinished_wav = config.output / "answer.wav.tmp";
  std::unique_ptr<WavSink> sink;

  const size_t num_runs = config.models.size() * config.costs.size();
  Progress progress("eval", "turns", static_cast<int64_t>(turns.turns.size() * num_runs));
  const auto name_of = [](const std::filesystem::path& model, const std::string& cost) {
    return model.string() + ' ' + cost;
  };
  int64_t num_done = 0;  // of all runs, before the first one resumes: they are not done now
  for (const std::filesystem::path& model : config.models) {
    for (const std::string& cost : config.costs) {
      num_done += static_cast<int64_t>(count_done_turns(turns, name_of(model, cost), journal));
    }
  }
  progress.update(num_done);
  std::vector<ReportRun> runs;
  Json environment = describe_environment(options.version);
  for (const std::filesystem::path& model : config.models) {
    if (!runs.empty()) {
      weights.reset();  // two models need not fit at once
      weights = load_eval_weights(config, model);
    }
    environment["models"][model.string()] = describe_model(*weights->base);
    for (const std::string& cost_name : config.costs) {
      const std::string name = name_of(model, cost_name);
      std::optional<Json> costed = journal.find("cost " + name);
      if (!costed) {  // a resumed run keeps the costs that it began with
        costed = to_json(cost_of(cost_name, config, *weights));
        journal.append("cost " + name, *costed);
      }
      const RunCost cost = run_cost_from(*costed);
      if (voice && runs.empty() && !journal.find(name + " 0")) {
        sink = std::make_unique<WavSink>(unfinished_wav, voice->sample_rate());
      }
      AudioSink* const first_answer = sink.get();
      std::atomic<int> num_workers = 0;
      const auto make_worker = [&]() -> RunConversation {
        const auto own = num_workers++ == 0 ? weights : load_eval_weights(config, model);
        const auto worker =
            std::make_shared<EvalWorker>(config, own, cost, turns, voice.get(), first_answer, stop);
        return [worker, &sink](size_t begin, size_t end) {
          EvalRun run = worker->run(begin, end);
          if (begin == 0) sink.reset();  // the file has the first answer before the journal says so
          return run;
        };
      };
      Json done = run_conversations(turns, name, config.workers, make_worker, journal,
                                    [&](size_t num_turns) {
                                      num_done += static_cast<int64_t>(num_turns);
                                      progress.update(num_done, cost_name);
                                    });
      for (const Json& failed : done["failed"]) {
        spdlog::warn("left out of every method: turn {} failed with {}: {}",
                     failed["id"].get<std::string>(), failed["method"].get<std::string>(),
                     failed["error"].get<std::string>());
      }
      runs.push_back({model, *costed, std::move(done["rows"]), std::move(done["failed"])});
    }
  }
  progress.finish();

  Json report = make_report(
      {config.methods, turns, runs, reader.resolved(), std::move(environment), overlap});
  if (voice && std::filesystem::exists(unfinished_wav)) publish_file(unfinished_wav, wav);
  write_report(report, config.output);
  journal.remove();
  return report;
}

}  // namespace predgen::evaluate
