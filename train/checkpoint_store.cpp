#include "train/checkpoint_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/log.h"
#include "core/version.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"

namespace predgen::train {

GradientNorms::GradientNorms(std::vector<double> oldest_first) : values_(std::move(oldest_first)) {
  if (values_.size() > kMost) values_.erase(values_.begin(), values_.end() - kMost);
}

void GradientNorms::add(double norm) {
  if (values_.size() == kMost) values_.erase(values_.begin());
  values_.push_back(norm);
}

std::optional<double> GradientNorms::median() const {
  if (values_.size() < kFewest) return std::nullopt;
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

bool GradientNorms::is_outlier(double norm, double factor) const {
  const std::optional<double> usual = median();
  return factor > 0 && usual && norm > factor * *usual;
}

namespace {

constexpr int kFormat = 3;  // raised whenever the keys that identify a run change

/// Whether a run is extended to more steps, which changes none of its past steps.
bool is_longer(const std::string& key, const std::string& saved, const std::string& current) {
  return (key == "max_steps" || key == "epochs") &&
         std::strtod(current.c_str(), nullptr) > std::strtod(saved.c_str(), nullptr);
}

/// "learning_rate: 0.01 there, 0.5 now; ..."
std::string differences(const RunIdentity& saved, const RunIdentity& current) {
  const auto value = [](const RunIdentity& identity, const std::string& key) {
    const auto found = identity.find(key);
    const bool is_length = key == "max_steps" || key == "epochs";  // one of them is 0
    if (found == identity.end() || (is_length && found->second == "0")) {
      return std::string("not set");
    }
    return found->second;
  };
  RunIdentity keys = saved;
  keys.insert(current.begin(), current.end());
  std::string text, longer;
  for (const auto& [key, unused] : keys) {
    if (value(saved, key) == value(current, key)) continue;
    if (is_longer(key, value(saved, key), value(current, key))) {
      longer = fmt::format("{}: {} there, {} now", key, value(saved, key), value(current, key));
      continue;
    }
    text += fmt::format("{}{}: {} there, {} now", text.empty() ? "" : "; ", key, value(saved, key),
                        value(current, key));
  }
  if (text.empty() && !longer.empty()) {
    spdlog::info("{}: the learning rate goes on as in a run of that length", longer);
  }
  return text;
}

/// DONE goes first: a kill in between leaves no seemingly finished folder.
void remove_checkpoint(const std::filesystem::path& folder) {
  std::filesystem::remove(folder / "DONE");
  std::filesystem::remove_all(folder);
}

}  // namespace

CheckpointStore::CheckpointStore(std::filesystem::path folder, RunIdentity identity,
                                 int64_t keep_last)
    : folder_(std::move(folder)), identity_(std::move(identity)), keep_last_(keep_last) {}

std::vector<std::filesystem::path> CheckpointStore::finished() const {
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(folder_)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && std::filesystem::exists(entry.path() / "DONE")) {
      found.push_back(entry.path());
    }
  }
  std::ranges::sort(found);  // the names have equal numbers of digits
  return found;
}

std::optional<std::filesystem::path> CheckpointStore::newest() const {
  const std::vector<std::filesystem::path> all = finished();
  if (all.empty()) return std::nullopt;
  return all.back();
}

void CheckpointStore::save(const TrainState& state, const TrainedWeights& weights,
                           const AdamW& optimizer) const {
  const std::filesystem::path folder = folder_ / fmt::format("step-{:08}", state.step);
  remove_checkpoint(folder);  // left by a killed run, or to be remade
  try {
    write(folder, state, weights, optimizer);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);  // it may be what fills the disk
    throw;
  }
  const std::vector<std::filesystem::path> all = finished();
  for (size_t i = 0; i + static_cast<size_t>(keep_last_) < all.size(); ++i) {
    if (all[i] != folder) remove_checkpoint(all[i]);
  }
}

void CheckpointStore::write(const std::filesystem::path& folder, const TrainState& state,
                            const TrainedWeights& weights, const AdamW& optimizer) const {
  make_folder(folder);
  weights.save(folder, "fp32");
  write_safetensors(folder / "optimizer.safetensors", optimizer.state());
  const Json json{{"format", kFormat},
                  {"predgen", program_version()},
                  {"step", state.step},
                  {"samples", state.samples},
                  {"skipped_steps", state.skipped_steps},
                  {"outlier_steps", state.outlier_steps},
                  {"gradient_norms", state.norms.values()},
                  {"seconds", state.seconds},
                  {"run", identity_}};
  write_file(folder / "state.json", json.dump(2) + "\n");
  write_file(folder / "DONE", "");
}

TrainState CheckpointStore::load(const std::filesystem::path& checkpoint, TrainedWeights& weights,
                                 AdamW& optimizer) const {
  if (!std::filesystem::exists(checkpoint / "DONE")) {
    throw UserError("{} is not a finished checkpoint: it has no DONE file", checkpoint.string());
  }
  const std::string where = (checkpoint / "state.json").string();
  const Json json = read_json(where);
  if (const int format = json_get<int>(json, "format", where); format != kFormat) {
    throw UserError(
        "{}: has format {}, this program resumes format {}: finish the run with the program that "
        "began it, or train on from its weights (`start_from` or `model`)",
        where, format, kFormat);
  }
  const std::string changed = differences(json_get<RunIdentity>(json, "run", where), identity_);
  if (!changed.empty()) {
    throw UserError("{} belongs to a run with other settings ({}); undo that or use another output",
                    checkpoint.string(), changed);
  }
  weights.load(checkpoint);
  const SafetensorsFile file(checkpoint / "optimizer.safetensors");
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, entry] : file.entries()) tensors[name] = file.tensor(name);
  optimizer.load_state(tensors);
  return {.step = json_get<int64_t>(json, "step", where),
          .samples = json_get<int64_t>(json, "samples", where),
          .skipped_steps = json_get<int64_t>(json, "skipped_steps", where),
          .outlier_steps = json_get<int64_t>(json, "outlier_steps", where),
          .norms = GradientNorms(json_get<std::vector<double>>(json, "gradient_norms", where)),
          .seconds = json_get<double>(json, "seconds", where)};
}

OutputLock::OutputLock(const std::filesystem::path& folder) {
  make_folder(folder);
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  if (reason == EWOULDBLOCK) {
    throw UserError("{}: another run writes there: wait for it, or output=... starts elsewhere",
                    folder.string());
  }
  spdlog::warn("{} cannot be locked ({}): start no second run with it meanwhile", folder.string(),
               strerror(reason));
}

OutputLock::~OutputLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

namespace {

/// Whichever version of predgen wrote them.
std::string content_of(Json manifests) {
  for (Json& manifest : manifests) manifest.erase("predgen");
  return manifests.dump();
}

}  // namespace

RunIdentity run_identity(const TrainConfig& config, const data::DatasetReader& dataset) {
  RunIdentity identity = config.identity();
  const auto hash_of = [](const std::filesystem::path& path, const auto& files_of) {
    return path.empty() ? std::string() : hash_weights(files_of(path));
  };
  identity["model"] = hash_of(
      config.model, [](const auto& model) { return open_checkpoint(model)->weight_files(); });
  if (!config.initialize.empty()) {
    identity["initialize"] = Hasher().add_file(config.initialize).hex();
  }
  if (config.mode == TrainMode::kLora)
    identity["start_from"] = hash_of(config.start_from, weight_files);
  identity["dataset"] = Hasher().add(content_of(dataset.manifest())).hex();
  // Block scales were once spaced uniformly: such weights decode to other values.
  if (config.base.weights == BaseWeights::kNf4) {
    identity["base.weights"] += " with logarithmic scales";
  }
  return identity;
}

void check_same_run(const TrainConfig& config, const RunIdentity& identity,
                    const std::vector<const data::DatasetReader*>& others,
                    const TokenIds& stop_tokens, Communicator& communicator) {
  Hasher hasher;
  for (const auto& [key, value] : identity) hasher.add(key).add(value);
  // May change on resume but must match on all ranks: they decide when a collective is due.
  for (const int64_t value :
       {config.held_out_records, config.eval_every, config.save_every, config.log_every,
        config.stop_at_step, config.watch.every, config.watch.records, config.watch.max_new_tokens,
        config.watch.block_size, int64_t{config.base.shard}}) {
    hasher.add(std::to_string(value));
  }
  hasher.add(fmt::format("{}", config.outlier_factor));
  for (const data::DatasetReader* data : others)
    hasher.add(data ? data->manifest().dump() : "none");
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

}  // namespace predgen::train
