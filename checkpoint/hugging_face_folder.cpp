#include "checkpoint/hugging_face_folder.h"

#include <c10/util/accumulate.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "checkpoint/tensor_views.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "model/model_config.h"
#include "model/weights/weight_files.h"
#include "tensors/four_bit_tensors.h"
#include "tensors/safetensors.h"

namespace predgen {
namespace {

constexpr const char* kCard = "README.md";
constexpr const char* kFence = "---";  // around the head

/// The value in a line "key: value", without quotes; empty if the key differs.
std::string value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") return {};
  return shortened(trimmed(line.substr(key.size() + 1), " \t\r\"'"));
}

}  // namespace

ModelCard read_model_card(const std::filesystem::path& folder) {
  ModelCard card;
  std::error_code unusable;
  if (!std::filesystem::is_regular_file(folder / kCard, unusable)) return card;
  std::istringstream lines(read_file(folder / kCard));
  std::string line, own_licence;
  std::getline(lines, line);
  if (trimmed(line) == kFence) {
    while (std::getline(lines, line) && trimmed(line) != kFence) {
      if (const std::string value = value_of(line, "license"); !value.empty()) card.licence = value;
      if (const std::string value = value_of(line, "license_name"); !value.empty()) {
        own_licence = value;  // and "license" is "other"
      }
    }
    std::getline(lines, line);
  }
  if (!own_licence.empty()) card.licence = own_licence;
  while (lines && !line.starts_with("# ")) std::getline(lines, line);
  if (lines || line.starts_with("# ")) card.title = shortened(trimmed(line.substr(1)));
  return card;
}

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr const char* kBaseModel = "base_model_name_or_path";
constexpr const char* kGenerationConfig = "generation_config.json";
constexpr const char* kIndex = "model.safetensors.index.json";
/// The only subfolder that means something to transformers.
constexpr const char* kTemplates = "additional_chat_templates";

CopiedFiles kind_of(const std::string& name) {
  if (name == kGenerationConfig) return CopiedFiles::kGeneration;
  const bool is_tokenizer =
      std::ranges::find(tokenizer_file_names(), name) != tokenizer_file_names().end();
  return is_tokenizer ? CopiedFiles::kTokenizer : CopiedFiles::kOther;
}

/// Excludes weights, files that this program writes itself, and adapters (transformers would apply
/// an adapter_config.json found next to merged weights).
bool is_copied(const fs::path& file) {
  static const std::set<std::string> kWeightSuffixes{
      ".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx", ".tmp"};
  const std::string name = file.filename().string();
  if (name == "DONE" || name == "state.json") {
    // If both exist, they are for resuming a training run.
    if (fs::exists(file.parent_path() / "DONE") && fs::exists(file.parent_path() / "state.json")) {
      return false;
    }
  }
  return !kWeightSuffixes.contains(file.extension().string()) && name != kConfig &&
         name != kAdapterConfig && !name.ends_with(".safetensors.index.json") &&
         !name.ends_with(".bin.index.json");
}

void copy_into(const fs::path& folder, const fs::path& file) {
  write_file(folder / file.filename(), read_file(file));
}

/// The files for which is_copied() is true.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && is_copied(entry.path())) files.push_back(entry.path());
  }
  return files;
}

/// "eos_token_id": one id or a list; none if absent or null.
std::optional<TokenIds> read_stop_tokens(const Json& fields, const std::string& where) {
  constexpr const char* kKey = "eos_token_id";
  if (!fields.is_object() || !fields.contains(kKey) || fields[kKey].is_null()) return std::nullopt;
  if (fields[kKey].is_array()) return json_get<TokenIds>(fields, kKey, where);
  return TokenIds{json_get<TokenId>(fields, kKey, where)};
}

/// The type of most values.
std::string type_of(const StoredTensors& tensors) {
  std::map<at::ScalarType, int64_t> counts;
  for (const std::string& name : tensors.names()) {
    const TensorShape shape = tensors.shape(name);
    counts[shape.dtype] += c10::multiply_integers(shape.shape);
  }
  if (counts.empty()) return "";
  const at::ScalarType type =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
  switch (type) {
    case at::kFloat:
      return "fp32";
    case at::kBFloat16:
      return "bf16";
    case at::kHalf:
      return "fp16";
    default:
      return c10::toString(type);
  }
}

}  // namespace

bool HuggingFaceFolder::is_at(const fs::path& path) {
  std::error_code unusable;  // a name that is too long, for example
  return fs::is_directory(path, unusable);
}

/// For a folder that lacks the requested files: UserError if it is something else that users pass
/// as a model.
void HuggingFaceFolder::refuse_others() const {
  if (fs::exists(folder_ / kConfig) || !fs::is_directory(folder_)) return;
  if (const fs::path file = folder_ / kAdapterConfig; fs::exists(file)) {
    const Json fields = read_json(file);
    const std::string base = fields.is_object() && fields.contains(kBaseModel)
                                 ? shortened(fields[kBaseModel].dump())
                                 : "which its maker knows";
    throw UserError(
        "{}: is an adapter, not a model: give it as --adapter (`adapter` of a configuration), and "
        "as the model the one that it was made for, {}",
        folder_.string(), base);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == ".gguf") {
      throw UserError("{}: give the GGUF file in it: {}", folder_.string(), entry.path().string());
    }
  }
}

CheckpointLabel HuggingFaceFolder::read_label() const {
  const std::string where = (folder_ / kConfig).string();
  const Json json = read_config_json();
  const ModelConfig config = ModelConfig::from_json(json, where);
  const std::string packed_type = stored_type({json, where});
  const ModelCard card = read_model_card(folder_);
  CheckpointLabel label{
      .architecture = config.to_json().at("model_type").get<std::string>(),
      .name = card.title,
      .num_parameters = config.num_parameters(),
      .type = packed_type.empty() ? type_of(SafetensorsFolder(folder_)) : packed_type,
      .licence = card.licence,
      .context = config.context_length()};
  for (const fs::path& file : weight_files()) {
    label.num_bytes += static_cast<int64_t>(fs::file_size(file));
  }
  return label;
}

ModelConfig HuggingFaceFolder::read_config() const {
  refuse_others();
  return ModelConfig::load(folder_);
}

Json HuggingFaceFolder::read_config_json() const {
  refuse_others();
  return read_json(folder_ / kConfig);
}

std::unique_ptr<const StoredTensors> HuggingFaceFolder::open_tensors() const {
  return std::make_unique<const UnstackedTensors>(
      std::make_unique<const TextTensors>(std::make_unique<const FourBitTensors>(
          std::make_unique<SafetensorsFolder>(folder_), folder_.string())),
      read_config(), folder_.string());
}

bool HuggingFaceFolder::has_tokenizer() const { return predgen::has_tokenizer(folder_); }

TokenizerFiles HuggingFaceFolder::read_tokenizer(const fs::path& chat_template) const {
  if (!has_tokenizer()) refuse_others();
  return TokenizerFiles::read(folder_, chat_template);
}

GenerationSettings HuggingFaceFolder::read_generation() const {
  GenerationSettings settings;
  const fs::path file = folder_ / kGenerationConfig;
  settings.where = file.string();
  if (fs::exists(file)) settings.fields = read_json(file);
  std::optional<TokenIds> stop_tokens = read_stop_tokens(settings.fields, settings.where);
  const fs::path config = folder_ / kConfig;  // missing beside a bare tokenizer
  if (!stop_tokens && fs::exists(config)) {
    stop_tokens = read_stop_tokens(read_json(config), config.string());
  }
  if (stop_tokens) settings.stop_tokens = *stop_tokens;
  return settings;
}

std::vector<fs::path> HuggingFaceFolder::weight_files() const {
  return predgen::weight_files(folder_);
}

void HuggingFaceFolder::check_weight_files(std::vector<CheckpointFile>& files) const {
  const fs::path index = folder_ / kIndex;
  if (!fs::exists(index)) {
    const bool is_there = fs::exists(folder_ / "model.safetensors");
    const bool is_pickled = fs::exists(folder_ / "pytorch_model.bin") ||
                            fs::exists(folder_ / "pytorch_model.bin.index.json");
    files.push_back({"model.safetensors",
                     is_there ? "ok"
                     : is_pickled
                         ? "MISSING: scripts/convert_pickled.py makes it from pytorch_model.bin"
                         : "MISSING, and no index of shards",
                     !is_there});
    return;
  }
  std::set<std::string> shards;
  const auto map =
      json_get<std::map<std::string, std::string>>(read_json(index), "weight_map", index.string());
  for (const auto& [tensor, shard] : map) shards.insert(shard);
  files.push_back({kIndex, fmt::format("ok, {} shards", shards.size())});
  for (const std::string& shard : shards) {
    std::error_code unusable;  // a name that is too long, for example
    if (!fs::exists(folder_ / shard, unusable)) {
      files.push_back({shard, "MISSING: download it again", true});
    }
  }
}

std::vector<CheckpointFile> HuggingFaceFolder::check_files() const {
  std::vector<CheckpointFile> files;
  check_weight_files(files);
  if (!has_tokenizer()) {
    files.push_back({"tokenizer.json", "MISSING, and no tokenizer.model", true});
    return files;
  }
  const auto check = [&](const char* name, const char* if_missing) {
    files.push_back({name, fs::exists(folder_ / name) ? "ok" : if_missing});
  };
  check("tokenizer_config.json", "missing: no chat template, no named special tokens");
  check(kGenerationConfig, "missing: config.json says what ends an answer");
  return files;
}

void HuggingFaceFolder::copy_files(CopiedFiles files, const fs::path& folder) const {
  for (const fs::path& file : files_in(folder_)) {
    if (kind_of(file.filename().string()) == files) copy_into(folder, file);
  }
  if (files != CopiedFiles::kTokenizer || !fs::is_directory(folder_ / kTemplates)) return;
  make_folder(folder / kTemplates);
  for (const fs::path& file : files_in(folder_ / kTemplates)) copy_into(folder / kTemplates, file);
}

}  // namespace predgen
