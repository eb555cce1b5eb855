// The saving half of model/weights/checkpoint.h.

#include <algorithm>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "model/weights/checkpoint.h"
#include "model/weights/sharded_weights.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

bool is_tokenizer_file(const std::string& name) {
  return std::ranges::find(tokenizer_file_names(), name) != tokenizer_file_names().end();
}

/// Weights, files that this program writes itself, and adapters (transformers would apply an
/// adapter_config.json that it finds beside merged weights).
bool is_copied(const fs::path& file) {
  static const std::set<std::string> kWeightSuffixes{
      ".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx", ".tmp"};
  const std::string name = file.filename().string();
  if (name == "DONE" || name == "state.json") {
    // What resuming a training run needs, if both are there.
    if (fs::exists(file.parent_path() / "DONE") && fs::exists(file.parent_path() / "state.json")) {
      return false;
    }
  }
  return !kWeightSuffixes.contains(file.extension().string()) && name != "config.json" &&
         name != "adapter_config.json" && !name.ends_with(".safetensors.index.json") &&
         !name.ends_with(".bin.index.json");
}

void copy_into(const fs::path& file, const fs::path& folder) {
  write_file(folder / file.filename(), read_file(file));
}

void copy_other_files(const fs::path& source, const fs::path& folder, bool with_tokenizer) {
  // The only subfolder with a meaning to transformers.
  const fs::path templates = "additional_chat_templates";
  for (const fs::directory_entry& entry : fs::directory_iterator(source)) {
    if (!entry.is_regular_file() || !is_copied(entry.path())) continue;
    if (with_tokenizer || !is_tokenizer_file(entry.path().filename().string())) {
      copy_into(entry.path(), folder);
    }
  }
  if (with_tokenizer && source.filename() != templates && fs::is_directory(source / templates)) {
    make_folder(folder / templates);
    copy_other_files(source / templates, folder / templates, with_tokenizer);
  }
}

}  // namespace

void save_model_files(const fs::path& folder, const ModelConfig& config,
                      const fs::path& source_folder, const std::string& dtype,
                      const fs::path& tokenizer_folder) {
  make_folder(folder);
  Json json = config.to_json();
  if (!source_folder.empty()) {
    json = read_json(source_folder / "config.json");
    json["vocab_size"] = config.vocab_size;
    copy_other_files(source_folder, folder, tokenizer_folder.empty());
  }
  if (!tokenizer_folder.empty()) {
    for (const std::string_view name : tokenizer_file_names()) {
      if (fs::exists(tokenizer_folder / name)) copy_into(tokenizer_folder / name, folder);
    }
  }
  const char* type_name = parse_dtype(dtype) == at::kFloat ? "float32" : "bfloat16";
  // transformers 5 prefers "dtype"; a file of transformers 4 keeps its own spelling.
  json[json.contains("dtype") ? "dtype" : "torch_dtype"] = type_name;
  if (json.contains("torch_dtype")) json["torch_dtype"] = type_name;
  write_file(folder / "config.json", json.dump(2) + "\n");
}

void save_model(const Transformer& model, const fs::path& folder, const fs::path& source_folder,
                const std::string& dtype) {
  const at::ScalarType type = parse_dtype(dtype);
  std::map<std::string, at::Tensor> weights = model.named_weights();
  std::vector<std::pair<std::string, at::Tensor>> ordered;
  for (const WeightSpec& weight : weight_layout(model.config())) {
    PREDGEN_CHECK(weights.contains(weight.name), "the model has no tensor {}", weight.name);
    ordered.emplace_back(weight.name, weights[weight.name]);
  }
  PREDGEN_CHECK(ordered.size() == weights.size(), "the model has {} tensors, {} are written",
                weights.size(), ordered.size());
  make_folder(folder);
  write_sharded_weights(folder, ordered, type);
  save_model_files(folder, model.config(), source_folder, dtype, {});
}

}  // namespace predgen
