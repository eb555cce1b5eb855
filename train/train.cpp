#include "train/train.h"

#include <ATen/Parallel.h>

#include <chrono>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/staged_folder.h"
#include "model/weights/checkpoint.h"
#include "model/weights/safetensors.h"
#include "text/tokenizer.h"
#include "train/metrics_log.h"
#include "train/tensorboard_writer.h"
#include "train/trainer.h"

namespace predgen {
namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::unique_ptr<Transformer> make_model(const TrainConfig& config) {
  const at::Device device = parse_device(config.device);
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device);
  if (!config.initialize.empty()) {
    const std::string where = config.initialize.string();
    return Transformer::initialize(ModelConfig::from_json(read_json(where), where),
                                   static_cast<uint64_t>(config.seed), options);
  }
  if (config.mode == TrainMode::kLora) {
    // A frozen base needs no float32 copy where memory is short.
    const bool narrow = device.is_cuda() && config.compute == Compute::kBFloat16;
    return load_model(config.model, {}, {device.str(), narrow ? "bf16" : "fp32"});
  }
  // Trained weights must be memory of their own, not the mapped file.
  const SafetensorsFolder folder(config.model);
  return std::make_unique<Transformer>(
      ModelConfig::load(config.model), [&](const std::string& name) {
        return folder.tensor(name).to(options, /*non_blocking=*/false, /*copy=*/true);
      });
}

// What a record costs, and whether the model can take it.
std::vector<int64_t> record_lengths(const DatasetReader& dataset, int64_t max_positions) {
  std::vector<int64_t> lengths;
  int64_t num_targets = 0;
  Progress progress("lengths", "records", dataset.size());
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const Record record = dataset.read(i);
    auto length = static_cast<int64_t>(record.tokens.size());
    if (!record.blocks.empty()) {
      int64_t answer = 0;
      for (const TrajectoryBlock& block : record.blocks) {
        answer += static_cast<int64_t>(block.states.back().size());
      }
      length = std::max(length, record.prompt_length + answer);
    }
    if (length > max_positions) {
      throw UserError(
          "conversation {}, round {} has {} tokens, the model has room for {}: build the "
          "dataset with a smaller maximum",
          record.conversation_id, record.round, length, max_positions);
    }
    for (const uint8_t mask : record.loss_mask) num_targets += mask != 0;
    lengths.push_back(length);
    progress.update(i + 1);
  }
  if (lengths.empty()) throw UserError("the dataset has no records");
  if (num_targets == 0) throw UserError("the dataset has no token to learn: all loss masks are 0");
  return lengths;
}

std::optional<std::filesystem::path> choose_checkpoint(const TrainConfig& config,
                                                       const std::string& resume,
                                                       const CheckpointStore& checkpoints) {
  if (resume == "auto") {
    const std::optional<std::filesystem::path> newest = checkpoints.newest();
    if (!newest) spdlog::info("no finished checkpoint in {}: starting", config.output.string());
    return newest;
  }
  if (resume != "none") return std::filesystem::path(resume);
  if (std::filesystem::exists(config.output) && !std::filesystem::is_empty(config.output)) {
    throw UserError("{} is not empty: --resume auto goes on with it, output=... starts elsewhere",
                    config.output.string());
  }
  return std::nullopt;
}

void log_sizes(const Transformer& model, const AdamW& optimizer, int64_t num_records) {
  int64_t trained = 0, all = 0;
  for (const Parameter& parameter : optimizer.parameters()) trained += parameter.tensor.numel();
  for (const auto& [name, tensor] : model.named_weights()) all += tensor.numel();
  spdlog::info("{} records; training {} values in {} tensors; the model has {}", num_records,
               trained, optimizer.parameters().size(), all);
}

}  // namespace

void train(const TrainConfig& given, const std::string& resume, Communicator& communicator) {
  TrainConfig config = given;
  if (config.threads > 0) at::set_num_threads(static_cast<int>(config.threads));
  std::vector<std::filesystem::path> folders{config.dataset};
  folders.insert(folders.end(), config.replay.begin(), config.replay.end());
  const std::unique_ptr<DatasetReader> dataset = open_datasets(folders);
  std::unique_ptr<DatasetReader> held_out;
  if (!config.held_out.empty()) held_out = open_dataset(config.held_out);
  const std::unique_ptr<Transformer> model = make_model(config);
  TokenIds& stop_tokens = config.objective.consistency.stop_tokens;
  if (config.objective.kind != ObjectiveKind::kAutoregressive && stop_tokens.empty()) {
    stop_tokens = load_tokenizer(config.tokenizer)->stop_tokens();
  }
  BatchSampler batches(record_lengths(*dataset, model->max_positions()), config.batch_size,
                       static_cast<uint64_t>(config.seed));

  Json identity = config.identity();
  identity["dataset"] = Hasher().add(dataset->manifest().dump()).hex();
  const CheckpointStore checkpoints(config.output, identity, config.keep_last);
  const std::optional<std::filesystem::path> checkpoint =
      choose_checkpoint(config, resume, checkpoints);

  TrainedWeights weights(*model, config);
  AdamW optimizer(weights.parameters(), config.optimizer);
  TrainState state;
  if (checkpoint) {
    state = checkpoints.load(*checkpoint, weights, optimizer);
    spdlog::info("going on behind step {} of {}", state.step, checkpoint->string());
  } else if (!config.start_from.empty()) {
    weights.load(config.start_from);
  }
  log_sizes(*model, optimizer, dataset->size());

  const std::unique_ptr<Objective> objective = make_objective(config.objective);
  make_folder(config.output);
  if (communicator.is_main()) write_file(config.output / "config.yaml", config.resolved);
  MetricsLog metrics(config.output / "metrics.jsonl", state.step);
  TensorboardWriter tensorboard(config.output / "tensorboard", state.step + 1, unix_time());
  const Trainer::Report report = [&](int64_t step, const std::map<std::string, double>& scalars) {
    Json line{{"step", step}};
    for (const auto& [tag, value] : scalars) {
      line[tag] = value;
      tensorboard.scalar(tag, step, value, unix_time());
    }
    metrics.write(line);
  };
  Trainer trainer(config,
                  {*model, weights, *objective, optimizer, batches, *dataset, held_out.get(),
                   checkpoints, communicator},
                  state, report);
  trainer.run();
  if (communicator.is_main()) {
    const std::filesystem::path result = config.output / "final";
    StagedFolder staged(result);
    weights.save(staged.path(), config.save_dtype);
    std::filesystem::remove_all(result);  // of an earlier, shorter run
    staged.publish();
    spdlog::info("trained {} steps; the result is in {}", trainer.total_steps(), result.string());
  }
}

}  // namespace predgen
