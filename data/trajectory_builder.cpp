#include "data/trajectory_builder.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/hash.h"
#include "core/progress.h"
#include "data/dataset_store.h"
#include "data/hdf5_store.h"
#include "data/trajectory_collector.h"
#include "text/utf8.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

constexpr int kBuilderVersion = 1;  // raise it when the same configuration gives other states
constexpr int64_t kMany = int64_t{1} << 40;

/// The answer the collector found in place of the dataset's.
void use_fixed_point(const Trajectory& trajectory, Record& record) {
  record.tokens.resize(static_cast<size_t>(record.prompt_length));
  record.loss_mask.assign(record.tokens.size(), 0);
  record.tokens.insert(record.tokens.end(), trajectory.answer.begin(), trajectory.answer.end());
  record.loss_mask.resize(record.tokens.size(), 1);
}

class TrajectoryBuild {
 public:
  TrajectoryBuild(const TrajectoryConfig& config, Engine& engine, const std::string& model_hash,
                  const Tokenizer& tokenizer)
      : config_(config),
        engine_(engine),
        tokenizer_(tokenizer),
        dataset_(open_dataset(config.dataset)) {
    const Json& source = dataset_->manifest();
    const Json& recipe = source.at("recipe");
    if (recipe.contains("tokenizer") && recipe.at("tokenizer") != tokenizer.content_hash()) {
      throw UserError("{}: was built with another tokenizer than that of {}",
                      config.dataset.string(), config.model.string());
    }
    collector_ = {.block_size = config.block_size,
                  .max_answer_tokens = config.max_answer_tokens,
                  .seed = static_cast<uint64_t>(config.seed),
                  .stop_tokens = tokenizer.stop_tokens()};
    recipe_ = {{"kind", "trajectories"},
               {"builder_version", kBuilderVersion},
               {"dataset", recipe_hash(source.at("recipe"))},
               {"dataset_shards", Hasher().add(source.at("shards").dump()).hex()},
               {"tokenizer", tokenizer.content_hash()},
               {"model", model_hash},
               {"dtype", config.dtype},
               {"seed", config.seed},
               {"block_size", config.block_size},
               {"max_answer_tokens", config.max_answer_tokens},
               {"max_records", config.max_records},
               {"ar_labels", config.ar_labels == ArLabels::kDataset ? "dataset" : "fixed_point"},
               {"cleaning",
                {{"max_token_run", config.cleaning.max_token_run},
                 {"ngram_size", config.cleaning.ngram_size},
                 {"max_ngram_repeats", config.cleaning.max_ngram_repeats},
                 {"max_sentence_repeats", config.cleaning.max_sentence_repeats}}}};
    counters_ = {{"records_read", 0},
                 {"dropped",
                  {{"prompt_too_long", 0},
                   {"repeated_token", 0},
                   {"repeated_ngram", 0},
                   {"repeated_sentence", 0}}},
                 {"records", 0},
                 {"answers_cut_at_limit", 0},
                 {"answer_tokens", 0},
                 {"blocks", 0},
                 {"blocks_at_fixed_point", 0},
                 {"states", 0}};
  }

  Json run() {
    if (!dataset_is_complete(config_.output, recipe_)) write();
    return open_dataset(config_.output)->manifest();
  }

 private:
  void write() {
    const auto writer =
        create_dataset(config_.output, recipe_, {.records_per_shard = kMany, .resume = true});
    int64_t next = 0;
    if (!writer->state().is_null()) {
      next = writer->state().at("next_record").get<int64_t>();
      counters_ = writer->state().at("counters");
    }
    const int64_t total = config_.max_records > 0 ? std::min(config_.max_records, dataset_->size())
                                                  : dataset_->size();
    Progress progress("data trajectories", "records", total);
    progress.update(next);
    while (next < total) {
      const int64_t end = std::min(next + config_.records_per_flush, total);
      write_records(next, end, *writer, progress);
      next = end;
      writer->flush({{"next_record", next}, {"counters", counters_}});
    }
    writer->finish(counters_);
  }

  void write_records(int64_t begin, int64_t end, DatasetWriter& writer, Progress& progress) {
    std::vector<Record> records;
    for (int64_t i = begin; i < end; ++i) records.push_back(dataset_->read(i));
    // Prompts of like length share a batch; records are written in their own order.
    std::vector<size_t> order;
    for (size_t i = 0; i < records.size(); ++i) {
      if (records[i].prompt_length + config_.block_size <= engine_.model().max_positions()) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return records[a].prompt_length < records[b].prompt_length;
    });
    std::vector<Trajectory> trajectories(records.size());
    const auto batch_size = static_cast<size_t>(config_.batch_size);
    for (size_t first = 0; first < order.size(); first += batch_size) {
      const size_t last = std::min(first + batch_size, order.size());
      std::vector<TrajectoryPrompt> prompts;
      for (size_t i = first; i < last; ++i) {
        const Record& record = records[order[i]];
        prompts.push_back(
            {.index = static_cast<uint64_t>(begin) + order[i],
             .tokens = {record.tokens.begin(), record.tokens.begin() + record.prompt_length}});
      }
      std::vector<Trajectory> solved = collect_trajectories(engine_, prompts, collector_, {});
      for (size_t i = first; i < last; ++i) trajectories[order[i]] = std::move(solved[i - first]);
      progress.update(begin + static_cast<int64_t>(last), note());
    }
    for (size_t i = 0; i < records.size(); ++i) keep(records[i], trajectories[i], writer);
  }

  std::string note() const {
    return fmt::format("{} blocks", counters_.at("blocks").get<int64_t>());
  }

  void keep(Record& record, Trajectory& trajectory, DatasetWriter& writer) {
    count("records_read", 1);
    std::string drop = "prompt_too_long";
    if (!trajectory.blocks.empty()) {
      // A model may well write half a character.
      const std::string text = replace_ill_formed_utf8(tokenizer_.decode(trajectory.answer));
      drop = find_repetition(trajectory.answer, text, config_.cleaning);
    }
    if (!drop.empty()) {
      Json& counter = counters_["dropped"][drop];
      counter = counter.get<int64_t>() + 1;
      return;
    }
    count("records", 1);
    count("answers_cut_at_limit", trajectory.stopped ? 0 : 1);
    count("answer_tokens", static_cast<int64_t>(trajectory.answer.size()));
    for (const TrajectoryBlock& block : trajectory.blocks) {
      count("blocks", 1);
      count("blocks_at_fixed_point", block.states.size() == 1 ? 1 : 0);
      count("states", static_cast<int64_t>(block.states.size()));
    }
    if (config_.ar_labels == ArLabels::kFixedPoint) use_fixed_point(trajectory, record);
    record.blocks = std::move(trajectory.blocks);
    writer.append(record);
  }

  void count(const char* name, int64_t amount) {
    counters_[name] = counters_[name].get<int64_t>() + amount;
  }

  const TrajectoryConfig& config_;
  Engine& engine_;
  const Tokenizer& tokenizer_;
  std::unique_ptr<DatasetReader> dataset_;
  CollectorConfig collector_;
  Json recipe_, counters_;
};

}  // namespace

TrajectoryConfig TrajectoryConfig::read(ConfigReader& reader) {
  TrajectoryConfig config;
  reader.required("dataset", config.dataset);
  reader.required("model", config.model);
  reader.optional("adapter", config.adapter);
  reader.optional("chat_template", config.chat_template);
  reader.required("output", config.output);
  reader.optional("device", config.device);
  reader.optional("dtype", config.dtype);
  reader.optional("seed", config.seed, int64_t{0}, kMany);
  reader.optional("block_size", config.block_size, int64_t{2}, int64_t{1024});
  reader.optional("max_answer_tokens", config.max_answer_tokens, int64_t{1}, int64_t{65536});
  reader.optional("batch_size", config.batch_size, int64_t{1}, int64_t{4096});
  reader.optional("records_per_flush", config.records_per_flush, int64_t{1}, kMany);
  reader.optional("max_records", config.max_records, int64_t{0}, kMany);
  reader.optional("threads", config.threads, int64_t{0}, int64_t{1024});
  reader.choice("ar_labels", config.ar_labels,
                {{"dataset", ArLabels::kDataset}, {"fixed_point", ArLabels::kFixedPoint}});
  ConfigReader cleaning = reader.section("cleaning");
  cleaning.optional("max_token_run", config.cleaning.max_token_run, int64_t{0}, kMany);
  cleaning.optional("ngram_size", config.cleaning.ngram_size, int64_t{0}, kMany);
  cleaning.optional("max_ngram_repeats", config.cleaning.max_ngram_repeats, int64_t{0}, kMany);
  cleaning.optional("max_sentence_repeats", config.cleaning.max_sentence_repeats, int64_t{0},
                    kMany);
  return config;
}

Json build_trajectories(const TrajectoryConfig& config, Engine& engine,
                        const std::string& model_hash, const Tokenizer& tokenizer) {
  return TrajectoryBuild(config, engine, model_hash, tokenizer).run();
}

std::string hash_model(const fs::path& model, const fs::path& adapter) {
  Hasher hasher;
  for (const fs::path& folder : {model, adapter}) {
    if (folder.empty()) continue;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name == "config.json" || name == "adapter_config.json" ||
          name.ends_with(".safetensors")) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      hasher.add(file.filename().string()).add(hash_file(file));
    }
  }
  return hasher.hex();
}

}  // namespace predgen
