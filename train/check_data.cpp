#include "train/check_data.h"

#include <algorithm>

#include "core/error.h"
#include "model/parts/recurrent_part.h"
#include "text/token_ids.h"

namespace predgen::train {
namespace {

/// UserError if one of the records, whose answers `what` learns, is a bare prompt.
void check_answers(const std::string& folder, const data::DatasetReader& dataset, int64_t begin,
                   int64_t end, const std::string& what) {
  int64_t num_prompts = 0;
  for (int64_t i = begin; i < end; ++i) {
    const data::RecordSize size = dataset.size_of(i);
    num_prompts += size.tokens == size.prompt_length ? 1 : 0;
  }
  if (num_prompts == 0) return;
  throw UserError(
      "{}: {} of {} records are prompts without an answer, and {} needs answers: `predgen data "
      "trajectories` with ar_labels=fixed_point has the model answer them",
      folder, num_prompts, end - begin, what);
}

std::string kind_name(ObjectiveKind kind) {
  for (const auto& [name, value] : objective_kinds()) {
    if (value == kind) return name;
  }
  throw Error("objective {} has no name", static_cast<int>(kind));
}

/// Checks labels for the cross-entropy of the objective and of the held-out loss.
void check_labels(const TrainConfig& config, const data::DatasetReader& dataset,
                  const data::DatasetReader* held_out) {
  if (held_out != nullptr) {
    check_answers(config.held_out.string(), *held_out, 0, held_out->size(), "`held_out`");
  }
  const ObjectiveConfig& objective = config.objective;
  const bool has_labels =
      !objective.is_consistency() ||
      (objective.consistency.ar_target == ArTarget::kLabels && objective.consistency.ar_weight > 0);
  if (!has_labels) return;
  const std::vector<std::filesystem::path> folders = config.datasets();
  int64_t begin = 0;
  for (size_t i = 0; i < folders.size(); ++i) {
    const int64_t end =
        begin + json_get<int64_t>(dataset.manifest().at(i), "num_records", folders[i].string());
    check_answers(folders[i].string(), dataset, begin, end,
                  "objective.kind: " + kind_name(objective.kind));
    begin = end;
  }
}

void check_targets(const data::DatasetReader& dataset) {
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::vector<uint8_t> mask = dataset.read(i).loss_mask;
    if (std::ranges::any_of(mask, [](uint8_t target) { return target != 0; })) return;
  }
  throw UserError("the dataset has no token to learn: all loss masks are 0");
}

void check_trajectories(const TrainConfig& config, const data::DatasetReader& dataset) {
  const ObjectiveConfig& objective = config.objective;
  if (!objective.is_consistency() || objective.consistency.consistency_weight == 0) return;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (!dataset.size_of(i).blocks.empty()) return;
  }
  throw UserError(
      "objective.kind: {} learns from trajectories, and {} has none: predgen data trajectories "
      "makes them of it; objective.kind=autoregressive learns its answers alone",
      kind_name(objective.kind), config.dataset.string());
}

/// Whether some record has branches; of null, no.
bool branches(const data::DatasetReader* dataset) {
  for (int64_t i = 0; dataset != nullptr && i < dataset->size(); ++i) {
    if (dataset->size_of(i).has_branches) return true;
  }
  return false;
}

/// Compares the hash of each dataset's tokenizer with the first known one.
class TokenizerCheck {
 public:
  TokenizerCheck(const TrainConfig& config, const Tokenizer* tokenizer) {
    if (tokenizer == nullptr) return;
    hash_ = tokenizer->content_hash();
    owner_ = fmt::format("that of {} (`tokenizer`, `chat_template`)", config.tokenizer.string());
  }

  void take(const std::filesystem::path& folder, const Json& manifest) {
    const Json& recipe = manifest.at("recipe");
    if (!recipe.contains("tokenizer")) return;
    const auto hash = json_get<std::string>(recipe, "tokenizer", folder.string());
    if (hash_.empty()) {
      hash_ = hash;
      owner_ = "that of " + folder.string();
    }
    if (hash != hash_) {
      throw UserError("{}: was built with another tokenizer than {}: build it again for this model",
                      folder.string(), owner_);
    }
  }

 private:
  std::string hash_, owner_;
};

}  // namespace

void check_data(const TrainConfig& config, const data::DatasetReader& dataset,
                const std::vector<const data::DatasetReader*>& others, const Tokenizer* tokenizer) {
  TokenizerCheck check(config, tokenizer);
  const std::vector<std::filesystem::path> folders = config.datasets();
  for (size_t i = 0; i < folders.size(); ++i) check.take(folders[i], dataset.manifest().at(i));
  const std::filesystem::path* names[] = {&config.held_out, &config.watch.dataset};
  for (size_t i = 0; i < others.size(); ++i) {
    if (others[i] != nullptr) check.take(*names[i], others[i]->manifest());
  }
  if (tokenizer != nullptr && !config.initialize.empty() &&
      tokenizer->vocab_size() > config.model_config().vocab_size) {
    throw UserError("{}: vocab_size must be at least {}, as {} has so many ids",
                    config.initialize.string(), tokenizer->vocab_size(), config.tokenizer.string());
  }
  check_trajectories(config, dataset);
  check_labels(config, dataset, others.empty() ? nullptr : others.front());
  check_targets(dataset);
  const bool is_plain = config.objective.kind == ObjectiveKind::kAutoregressive;
  if (!is_plain && (branches(&dataset) || std::ranges::any_of(others, branches))) {
    throw UserError(
        "objective.kind: {} does not take questions that stand alone: build the dataset with the "
        "law \"whole\" or \"truncated\", or give autoregressive",
        kind_name(config.objective.kind));
  }
}

void check_mask_tokens(const TrainConfig& config, const Tokenizer* tokenizer) {
  if (config.objective.mtp.mask_tokens.empty()) return;
  const int64_t num_ids = config.model_config().vocab_size;
  const TokenIds stop_tokens = tokenizer == nullptr ? TokenIds() : tokenizer->stop_tokens();
  for (const TokenId token : config.objective.mtp.mask_tokens) {
    const bool ends = is_stop_token(stop_tokens, token);
    if (token >= 0 && token < num_ids && !ends) continue;
    throw UserError(
        "objective.mask_tokens: token {} {}: choose others of the {}, such as special "
        "tokens of no use in a chat",
        token, ends ? "ends an answer" : "does not exist", num_ids);
  }
}

void check_layers(const TrainConfig& config, const ModelConfig& model,
                  const std::vector<const data::DatasetReader*>& datasets) {
  const bool is_plain = config.objective.kind == ObjectiveKind::kAutoregressive;
  const bool has_branches = std::ranges::any_of(datasets, branches);
  if (is_plain && !has_branches) return;
  for (const LayerSpec& layer : model.layers) {
    if (!layer.recurrence) continue;
    throw UserError(
        "{} puts several continuations of a text into one row, which this model's {} cannot read: "
        "{}",
        is_plain ? "the dataset's law (alone)"
                 : "objective.kind: " + kind_name(config.objective.kind),
        layer.recurrence->name(), is_plain ? "use the law \"whole\"" : "give autoregressive");
  }
}

void check_ids(const data::Record& record, int64_t num_ids) {
  const auto check = [&](const TokenIds& tokens) {
    for (const TokenId token : tokens) {
      if (token >= 0 && token < num_ids) continue;
      throw UserError(
          "conversation {}, round {} has token {}, the model has {} of them: build the dataset "
          "again with this model's tokenizer",
          record.conversation_id, record.round, token, num_ids);
    }
  };
  check(record.tokens);
  for (const data::TrajectoryBlock& block : record.blocks)
    std::ranges::for_each(block.states, check);
}

}  // namespace predgen::train
