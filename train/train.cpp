#include "train/train.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <optional>

#include "checkpoint/load_model.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "data/dataset_builder.h"
#include "data/drop_report.h"
#include "model/device_memory.h"
#include "text/tokenizer.h"
#include "train/base/frozen_layers.h"
#include "train/check_data.h"
#include "train/checkpoint_store.h"
#include "train/plan/memory_plan.h"
#include "train/plan/plan_sizes.h"
#include "train/report/run_report.h"
#include "train/run_log.h"
#include "train/trainer.h"
#include "train/watch/collapse_watch.h"

namespace predgen::train {
namespace {

/// Cleans the folder of a run that ended before its first step: it holds a log without a step and
/// only files that a run's start writes. Returns false, and removes nothing, for any other folder.
bool remove_stepless_start(const std::filesystem::path& run) {
  constexpr const char* kOfAStart[] = {"config.yaml", "metrics.jsonl", "watch.jsonl", "report.html",
                                       "tensorboard"};
  if (!std::filesystem::exists(run / "metrics.jsonl")) return false;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    if (std::ranges::find(kOfAStart, entry.path().filename().string()) == std::end(kOfAStart)) {
      return false;
    }
  }
  bool has_step = false;
  read_metrics(run / "metrics.jsonl", [&](const Json& line) {
    has_step = has_step || line.at("step").get<int64_t>() > 0;
  });
  if (has_step) return false;
  for (const char* name : kOfAStart) std::filesystem::remove_all(run / name);
  return true;
}

std::unique_ptr<Transformer> make_model(const TrainConfig& config) {
  const at::Device device = parse_device(config.device);
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device);
  if (!config.initialize.empty()) {
    return Transformer::initialize(config.model_config(), static_cast<uint64_t>(config.seed),
                                   options);
  }
  if (config.mode == TrainMode::kLora) {
    const bool narrow = config.compute == Compute::kBFloat16;
    std::unique_ptr<Transformer> model = load_model(*open_checkpoint(config.model), {},
                                                    {.device = device.str(),
                                                     .dtype = narrow ? "bf16" : "fp32",
                                                     .leaves_linears = !config.base.is_resident(),
                                                     .prepares_passes = false});
    if (narrow && !has_bfloat16_products(device)) model->set_activations(at::kFloat);
    return model;
  }
  // Trained weights need their own memory, not the mapped file's.
  const auto stored = open_checkpoint(config.model)->open_tensors();
  return std::make_unique<Transformer>(config.model_config(), [&](const std::string& name) {
    return stored->tensor(name).to(options, /*non_blocking=*/false, /*copy=*/true);
  });
}

/// Rank 0 makes it, or finds that it is there; the others wait.
void make_dataset(const data::BuildConfig& build, Communicator& communicator,
                  const std::stop_token& stop) {
  if (communicator.is_main()) {
    const std::unique_ptr<Tokenizer> tokenizer =
        load_tokenizer(open_checkpoint(build.tokenizer)->read_tokenizer(build.chat_template));
    const data::BuildResult result = data::build_dataset(build, *tokenizer, stop);
    const Json& counters = result.manifest.at("counters");
    spdlog::info("{}: {} examples of {} rows{}", build.output.string(),
                 counters.at("records").dump(), counters.at("rows_read").dump(),
                 result.already_complete ? ", made before" : "");
    for (const std::string& line : data::drop_lines(counters, build.examples_per_conversation)) {
      spdlog::info("{}", line);
    }
  }
  communicator.barrier();
}

/// Says so when a model is to learn what it says anyway.
void warn_of_own_answers(const TrainConfig& config, const data::DatasetReader& dataset) {
  if (config.objective.kind != ObjectiveKind::kAutoregressive) return;
  for (const Json& manifest : dataset.manifest()) {
    if (manifest.at("recipe").value("ar_labels", "") != "fixed_point") continue;
    spdlog::warn(
        "{}: holds answers of the model that made it, not those of your chats, which "
        "configs/train/own_answers.yaml learns",
        config.dataset.string());
    return;
  }
}

/// The most tokens of each record's row; UserError if one is too long for the model.
std::vector<int64_t> row_lengths(const data::DatasetReader& dataset, const Objective& objective,
                                 int64_t max_positions) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const data::RecordSize size = dataset.size_of(i);
    int64_t in_blocks = size.prompt_length;
    for (const data::RecordSize::Block& block : size.blocks) in_blocks += block.tokens;
    if (const int64_t last = std::max(size.tokens, in_blocks); last > max_positions) {
      const data::Record record = dataset.read(i);
      throw UserError(
          "conversation {}, round {} has {} tokens, the model has room for {}: build the "
          "dataset with a smaller maximum",
          record.conversation_id, record.round, last, max_positions);
    }
    lengths.push_back(objective.longest_row(size));
  }
  if (lengths.empty()) throw UserError("the dataset has no records");
  return lengths;
}

std::optional<std::filesystem::path> choose_checkpoint(const TrainConfig& config,
                                                       const std::string& resume,
                                                       const CheckpointStore& checkpoints) {
  if (resume == "auto") {
    std::optional<std::filesystem::path> newest = checkpoints.newest();
    if (!newest) spdlog::info("no finished checkpoint in {}: starting", config.output.string());
    return newest;
  }
  if (resume != "none") return std::filesystem::path(resume);
  if (remove_stepless_start(config.output)) {
    spdlog::info("{} holds a start that made no step: it is replaced", config.output.string());
  }
  if (std::filesystem::exists(config.output) && !std::filesystem::is_empty(config.output)) {
    throw UserError("{} is not empty: --resume auto goes on with it, output=... starts elsewhere",
                    config.output.string());
  }
  return std::nullopt;
}

int64_t count_values(const Transformer& model) {
  int64_t count = 0;
  for (const auto& [name, tensor] : model.named_weights()) count += tensor.numel();
  return count;
}

/// A page that cannot be written must not end a run.
void refresh_report(const std::filesystem::path& run) {
  try {
    write_run_report(run);
  } catch (const std::exception& error) {
    spdlog::warn("no report of the run: {}", error.what());
  }
}

void write_result(const TrainConfig& config, const TrainedWeights& weights) {
  const std::filesystem::path result = config.output / "final";
  StagedFolder staged(result);
  weights.save(staged.path(), config.save_dtype);
  std::filesystem::remove_all(result);  // of an earlier, shorter run
  staged.publish();
}

/// Ranks of one machine share its CPU memory; with several machines they get less than they could.
/// On a GPU, CUDA's context, which a plan counts, is already allocated.
int64_t memory_of_rank(const at::Device& device, const Communicator& communicator) {
  const int64_t free = free_memory(device);
  return device.is_cpu() ? free / communicator.world_size() : free + MemoryPlan::kContextBytes;
}

/// Replaces an out-of-memory error by a UserError that says what to change.
template <typename Work>
void with_memory_advice(const TrainConfig& config, const Transformer& model,
                        const PlanCase& plan_case, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    constexpr int64_t kNothingIsEnough = 0;
    throw UserError("out of memory on {} with {} rows of up to {} tokens: {}", model.device().str(),
                    config.batch_size, plan_case.row_tokens,
                    memory_advice(model.config(), config, plan_case, kNothingIsEnough));
  }
}

}  // namespace

void train(const TrainConfig& given, const std::string& resume, Communicator& communicator,
           const std::stop_token& stop) {
  TrainConfig config = given;
  PlanCase plan_case = case_of(parse_device(config.device), communicator.world_size());
  const int64_t memory = memory_of_rank(parse_device(config.device), communicator);
  if (config.threads > 0) at::set_num_threads(static_cast<int>(config.threads));
  if (config.build) make_dataset(*config.build, communicator, stop);
  const std::unique_ptr<data::DatasetReader> dataset = data::open_datasets(config.datasets());
  std::unique_ptr<data::DatasetReader> held_out;
  if (!config.held_out.empty()) held_out = data::open_dataset(config.held_out);
  std::unique_ptr<data::DatasetReader> watched;
  if (config.watch.every > 0 && !config.watch.dataset.empty())
    watched = data::open_dataset(config.watch.dataset);
  TokenIds& stop_tokens = config.objective.consistency.stop_tokens;
  const bool needs_stop_tokens = config.objective.is_consistency() && stop_tokens.empty();
  std::unique_ptr<const Checkpoint> texts;  // source of the tokenizer
  if (!config.tokenizer.empty()) texts = open_checkpoint(config.tokenizer);
  std::unique_ptr<Tokenizer> tokenizer;
  if (needs_stop_tokens || config.watch.every > 0 || (texts && texts->has_tokenizer())) {
    if (!texts) throw UserError("`tokenizer` must be set: it says what ends an answer");
    tokenizer = load_tokenizer(texts->read_tokenizer(config.chat_template));
  }
  if (needs_stop_tokens) stop_tokens = tokenizer->stop_tokens();
  check_data(config, *dataset, {held_out.get(), watched.get()}, tokenizer.get());
  check_mask_tokens(config, tokenizer.get());
  if (communicator.is_main()) warn_of_own_answers(config, *dataset);
  const std::unique_ptr<Transformer> model = make_model(config);
  check_layers(config, model->config(), {dataset.get(), held_out.get()});
  const std::unique_ptr<Objective> objective = make_objective(config.objective);
  BatchSampler batches(row_lengths(*dataset, *objective, model->max_positions()), config.batch_size,
                       static_cast<uint64_t>(config.seed));
  set_longest_row(*dataset, *objective, plan_case);
  const RunIdentity identity = run_identity(config, *dataset);
  check_same_run(config, identity, {held_out.get(), watched.get()},
                 tokenizer ? tokenizer->stop_tokens() : TokenIds{}, communicator);
  config.num_recomputed =
      choose_recomputed(model->config(), config, plan_case, memory, communicator);
  model->set_num_recomputed(config.num_recomputed);
  const TrainConfig planned = config;  // as given, apart from that
  if (config.compute == Compute::kBFloat16 && !has_bfloat16_products(model->device())) {
    if (communicator.is_main()) {
      spdlog::info("this CPU has no bfloat16 products: they are taken in float32");
    }
    config.compute = Compute::kFloat32;
  }
  const CheckpointStore checkpoints(config.output, identity, config.keep_last);
  TrainedWeights weights(*model, config);
  AdamW optimizer(weights.parameters(), config.optimizer);
  const int64_t num_values = count_values(*model);
  if (!config.base.is_resident()) {
    model->set_layer_store(std::make_shared<FrozenLayers>(*model, config.base, communicator));
  }

  TrainState state;
  std::optional<OutputLock> lock;  // until the result is written
  std::optional<RunLog> log;
  if (communicator.is_main()) {
    lock.emplace(config.output);
    if (const auto checkpoint = choose_checkpoint(config, resume, checkpoints)) {
      state = checkpoints.load(*checkpoint, weights, optimizer);
      spdlog::info("going on after step {} of {}", state.step, checkpoint->string());
    } else if (!config.start_from.empty()) {
      weights.load(config.start_from);
    }
    spdlog::info("{} records; training {} values in {} tensors; the model has {}", dataset->size(),
                 optimizer.flat_gradient().numel(), optimizer.parameters().size(), num_values);
    write_file(config.output / "config.yaml", given.to_yaml());
    log.emplace(config.output, state.step);
  }
  std::optional<CollapseWatch> watch;
  if (config.watch.every > 0) {
    watch.emplace(config, *model, model->device(), watched ? *watched : *held_out, *tokenizer,
                  communicator, state.step);
  }
  Trainer trainer(config,
                  {*model, weights, *objective, optimizer, batches, *dataset, held_out.get(),
                   checkpoints, communicator, watch ? &*watch : nullptr},
                  state,
                  {[&](int64_t step, const auto& scalars) { log->write(step, scalars); },
                   [&] { refresh_report(config.output); }},
                  stop);
  with_memory_advice(planned, *model, plan_case, [&] { trainer.run(); });
  if (communicator.is_main()) {
    write_result(config, weights);
    spdlog::info("trained {} steps; the result is in {}", trainer.total_steps(),
                 (config.output / "final").string());
  }
  communicator.barrier();  // final/ exists when any rank returns
}

}  // namespace predgen::train
