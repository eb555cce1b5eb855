#include "train/checkpoint_store.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/version.h"
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

}  // namespace predgen::train
