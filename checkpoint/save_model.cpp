#include "checkpoint/save_model.h"

#include <map>
#include <utility>
#include <vector>

#include "checkpoint/tensor_views.h"
#include "core/error.h"
#include "core/files.h"
#include "model/load_options.h"
#include "model/weights/weight_files.h"

namespace predgen {
namespace fs = std::filesystem;

void save_model_files(const fs::path& folder, const ModelConfig& config, const Checkpoint* source,
                      const std::string& dtype, const Checkpoint* tokenizer) {
  make_folder(folder);
  Json json = config.to_json();
  if (source) {
    json = source->read_config_json();
    if (json.contains("text_config")) json = config.to_json();  // what is written is the text model
    json["vocab_size"] = config.vocab_size;
    json.erase("quantization_config");  // of the source; what is written is plain
    source->copy_files(CopiedFiles::kGeneration, folder);
    source->copy_files(CopiedFiles::kOther, folder);
  }
  if (!tokenizer) tokenizer = source;
  if (tokenizer) tokenizer->copy_files(CopiedFiles::kTokenizer, folder);
  const char* type_name = parse_dtype(dtype) == at::kFloat ? "float32" : "bfloat16";
  // transformers 5 prefers "dtype"; a file of transformers 4 keeps its own spelling.
  json[json.contains("dtype") ? "dtype" : "torch_dtype"] = type_name;
  if (json.contains("torch_dtype")) json["torch_dtype"] = type_name;
  write_file(folder / "config.json", json.dump(2) + "\n");
}

void save_model(const Transformer& model, const fs::path& folder, const Checkpoint* source,
                const std::string& dtype) {
  const at::ScalarType type = parse_dtype(dtype);
  std::map<std::string, at::Tensor> weights = model.named_weights();
  const std::vector<WeightSpec> layout = weight_layout(model.config());
  for (const WeightSpec& weight : layout) {
    PREDGEN_CHECK(weights.contains(weight.name), "the model has no tensor {}", weight.name);
  }
  PREDGEN_CHECK(layout.size() == weights.size(), "the model has {} tensors, {} are written",
                weights.size(), layout.size());
  make_folder(folder);
  const StackedLayout stacked(model.config(), StackedLayout::Format::kFolder);
  const auto rows = [&](const std::string& name, int64_t begin, int64_t end) {
    return weights.at(name).slice(0, begin, end).to(at::kCPU, type);
  };
  write_sharded_weights(folder, stacked.tensors(), type,
                        [&](const std::string& name, int64_t begin, int64_t end) {
                          return stacked.rows(name, begin, end, rows);
                        });
  save_model_files(folder, model.config(), source, dtype, nullptr);
}

}  // namespace predgen
