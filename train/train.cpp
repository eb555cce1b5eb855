#include "train/train.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/staged_folder.h"
#include "evaluate/device_memory.h"
#include "model/weights/checkpoint.h"
#include "model/weights/safetensors.h"
#include "text/tokenizer.h"
#include "train/base/frozen_layers.h"
#include "train/plan/plan_case.h"
#include "train/report/run_report.h"
#include "train/run_log.h"
#include "train/trainer.h"
#include "train/watch/collapse_watch.h"

namespace predgen {
namespace {

std::unique_ptr<Transformer> make_model(const TrainConfig& config) {
  const at::Device device = parse_device(config.device);
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device);
  if (!config.initialize.empty()) {
    const std::string where = config.initialize.string();
    return Transformer::initialize(ModelConfig::from_json(read_json(where), where),
                                   static_cast<uint64_t>(config.seed), options);
  }
  if (config.mode == TrainMode::kLora) {
    const bool narrow = config.compute == Compute::kBFloat16;
    std::unique_ptr<Transformer> model = load_model(config.model, {},
                                                    {.device = device.str(),
                                                     .dtype = narrow ? "bf16" : "fp32",
                                                     .leaves_linears = !config.base.is_resident()});
    if (narrow && !has_bfloat16_products(device)) model->set_activations(at::kFloat);
    return model;
  }
  // Trained weights must be memory of their own, not the mapped file.
  const SafetensorsFolder folder(config.model);
  return std::make_unique<Transformer>(
      ModelConfig::load(config.model), [&](const std::string& name) {
        return folder.tensor(name).to(options, /*non_blocking=*/false, /*copy=*/true);
      });
}

/// Tokens of the row that each record becomes, at most; UserError if one is too long for the model.
std::vector<int64_t> row_lengths(const DatasetReader& dataset, const Objective& objective,
                                 int64_t max_positions) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const RecordSize size = dataset.size_of(i);
    int64_t in_blocks = size.prompt_length;
    for (const RecordSize::Block& block : size.blocks) in_blocks += block.tokens;
    if (const int64_t last = std::max(size.tokens, in_blocks); last > max_positions) {
      const Record record = dataset.read(i);
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

void check_targets(const DatasetReader& dataset) {
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::vector<uint8_t> mask = dataset.read(i).loss_mask;
    if (std::ranges::any_of(mask, [](uint8_t target) { return target != 0; })) return;
  }
  throw UserError("the dataset has no token to learn: all loss masks are 0");
}

/// Of what a model or adapter folder holds; empty for no folder.
std::string content_hash(const std::filesystem::path& folder) {
  if (folder.empty()) return "";
  if (!std::filesystem::is_directory(folder))
    throw UserError("{}: no such folder", folder.string());
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path& path = entry.path();
    const bool says_shape =
        path.filename() == "config.json" || path.filename() == "adapter_config.json";
    if (says_shape || path.extension() == ".safetensors") files.push_back(path);
  }
  std::ranges::sort(files);
  Hasher hasher;
  for (const std::filesystem::path& file : files) {
    hasher.add(file.filename().string()).add_file(file);
  }
  return hasher.hex();
}

/// What must be the same when a checkpoint is resumed, on any number of ranks and wherever its
/// files then lie.
RunIdentity run_identity(const TrainConfig& config, const DatasetReader& dataset) {
  RunIdentity identity = config.identity();
  identity["model"] = content_hash(config.model);
  if (!config.initialize.empty()) {
    identity["initialize"] = Hasher().add_file(config.initialize).hex();
  }
  if (config.mode == TrainMode::kLora) identity["start_from"] = content_hash(config.start_from);
  identity["dataset"] = Hasher().add(dataset.manifest().dump()).hex();
  return identity;
}

/// Ranks that train different things would add up gradients of both without a word.
void check_same_run(const TrainConfig& config, const RunIdentity& identity,
                    const std::vector<const DatasetReader*>& others, const TokenIds& stop_tokens,
                    Communicator& communicator) {
  Hasher hasher;
  for (const auto& [key, value] : identity) hasher.add(key).add(value);
  // A resumed run may have others, but all ranks the same: they say when a collective is due.
  for (const int64_t value :
       {config.held_out_records, config.eval_every, config.save_every, config.log_every,
        config.stop_at_step, config.watch.every, config.watch.records, config.watch.max_new_tokens,
        config.watch.block_size, int64_t{config.base.shard}}) {
    hasher.add(std::to_string(value));
  }
  hasher.add(fmt::format("{}", config.outlier_factor));
  for (const DatasetReader* data : others) hasher.add(data ? data->manifest().dump() : "none");
  for (const TokenId token : stop_tokens) hasher.add(std::to_string(token));
  const std::string hash = hasher.hex();
  const auto size = static_cast<int64_t>(hash.size());
  const at::Tensor own = at::empty({1, size}, at::kByte);
  std::ranges::copy(hash, own.mutable_data_ptr<uint8_t>());
  const at::Tensor all = at::empty({communicator.world_size(), size}, at::kByte);
  communicator.all_gather(own, all);
  for (int rank = 1; rank < communicator.world_size(); ++rank) {
    if (!all[rank].equal(all[0])) {
      throw UserError("rank {} has another configuration or other data than rank 0", rank);
    }
  }
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

/// A page that cannot be written is no reason to lose a run.
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

/// How many layers are run again; the same number on all ranks.
int64_t choose_recomputed(const TrainConfig& config, const Transformer& model,
                          const PlanCase& plan_case, Communicator& communicator) {
  const int64_t num_layers = model.config().num_layers;
  if (config.num_recomputed != kAutoLayers) return std::min(config.num_recomputed, num_layers);
  // Ranks of one machine share the memory of its CPU; those of several get less than they could.
  const int64_t memory =
      memory_size(model.device()) / (plan_case.is_cuda ? 1 : plan_case.world_size);
  const int64_t own = layers_to_recompute(model.config(), config, plan_case, usable(memory));
  const at::Tensor all = at::empty({communicator.world_size()}, at::kLong);
  communicator.all_gather(at::tensor({own}, at::kLong), all);
  const auto most = all.max().item<int64_t>();
  if (communicator.is_main()) {
    spdlog::info("recompute: auto runs {} of {} layers again, for {} of memory", most, num_layers,
                 to_gib(memory));
  }
  return most;
}

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  // The allocator of a CPU has no exception of its own.
  return dynamic_cast<const c10::Error*>(&error) != nullptr &&
         std::string_view(error.what()).find("DefaultCPUAllocator") != std::string_view::npos;
}

/// UserError that says what to change in place of an error for want of memory.
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
  if (config.threads > 0) at::set_num_threads(static_cast<int>(config.threads));
  std::vector<std::filesystem::path> folders{config.dataset};
  folders.insert(folders.end(), config.replay.begin(), config.replay.end());
  const std::unique_ptr<DatasetReader> dataset = open_datasets(folders);
  check_targets(*dataset);
  std::unique_ptr<DatasetReader> held_out;
  if (!config.held_out.empty()) held_out = open_dataset(config.held_out);
  std::unique_ptr<DatasetReader> watched;
  if (!config.watch.dataset.empty()) watched = open_dataset(config.watch.dataset);
  const std::unique_ptr<Transformer> model = make_model(config);
  TokenIds& stop_tokens = config.objective.consistency.stop_tokens;
  const bool needs_stop_tokens =
      config.objective.kind != ObjectiveKind::kAutoregressive && stop_tokens.empty();
  std::unique_ptr<Tokenizer> tokenizer;
  if (needs_stop_tokens || config.watch.every > 0) tokenizer = load_tokenizer(config.tokenizer);
  if (needs_stop_tokens) stop_tokens = tokenizer->stop_tokens();
  const std::unique_ptr<Objective> objective = make_objective(config.objective);
  BatchSampler batches(row_lengths(*dataset, *objective, model->max_positions()), config.batch_size,
                       static_cast<uint64_t>(config.seed));
  set_longest_row(*dataset, *objective, plan_case);
  const RunIdentity identity = run_identity(config, *dataset);
  check_same_run(config, identity, {held_out.get(), watched.get()},
                 tokenizer ? tokenizer->stop_tokens() : TokenIds{}, communicator);
  config.num_recomputed = choose_recomputed(config, *model, plan_case, communicator);
  model->set_num_recomputed(config.num_recomputed);
  const TrainConfig planned = config;  // as it was given, but for that
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
  std::optional<RunLog> log;
  if (communicator.is_main()) {
    if (const auto checkpoint = choose_checkpoint(config, resume, checkpoints)) {
      state = checkpoints.load(*checkpoint, weights, optimizer);
      spdlog::info("going on after step {} of {}", state.step, checkpoint->string());
    } else if (!config.start_from.empty()) {
      weights.load(config.start_from);
    }
    spdlog::info("{} records; training {} values in {} tensors; the model has {}", dataset->size(),
                 optimizer.flat_gradient().numel(), optimizer.parameters().size(), num_values);
    make_folder(config.output);
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
  communicator.barrier();  // final/ is there when any rank returns
}

}  // namespace predgen
