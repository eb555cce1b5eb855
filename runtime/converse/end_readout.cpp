#include "runtime/converse/end_readout.h"

#include <string>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "model/weights/weights_hash.h"
#include "tensors/safetensors.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

constexpr const char* kInFolder = "ends.safetensors";

std::string fingerprint_of(const fs::path& model) {
  if (!fs::is_directory(model)) return fingerprint({model});
  std::vector<fs::path> files = weight_files(model);
  std::erase_if(files, [](const fs::path& file) { return file.filename() == kInFolder; });
  return fingerprint(files);
}

}  // namespace

EndReadout::EndReadout(const fs::path& file, int64_t vocab_size) {
  const SafetensorsFile tensors(file);
  const auto& metadata = tensors.metadata();
  const auto says = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string("nothing") : found->second;
  };
  if (says("format") != "predgen-end-readout" || says("version") != "1") {
    throw UserError("{}: not a readout of this program: scripts/train_end_readout.py makes one",
                    file.string());
  }
  if (says("vocab_size") != std::to_string(vocab_size)) {
    throw UserError("{}: made for a model with a vocabulary of {}, not {}", file.string(),
                    says("vocab_size"), vocab_size);
  }
  if (metadata.contains("model")) model_ = says("model");
  const auto read = [&](const char* name, at::ScalarType dtype, const std::vector<int64_t>& shape) {
    at::Tensor values = tensors.load(name, at::kCPU, dtype);
    if (values.sizes() != shape) {
      throw UserError("{}: \"{}\" does not fit the other tensors", file.string(), name);
    }
    return values;
  };
  const auto length = [&](const char* name) { return tensors.tensor(name).numel(); };
  const int64_t S = length("tokens"), I = length("first.bias");
  tokens_S_ = read("tokens", at::kLong, {S});
  weight_IS_ = read("first.weight", at::kFloat, {I, S});
  bias_I_ = read("first.bias", at::kFloat, {I});
  last_weight_1I_ = read("last.weight", at::kFloat, {1, I});
  last_bias_1_ = read("last.bias", at::kFloat, {1});
  if (S == 0 || tokens_S_.min().item<int64_t>() < 0 ||
      tokens_S_.max().item<int64_t>() >= vocab_size) {
    throw UserError("{}: \"tokens\" are not of the vocabulary", file.string());
  }
}

double EndReadout::probability(const at::Tensor& logits_V) const {
  const at::Tensor logits_S =
      logits_V.index_select(0, tokens_S_.to(logits_V.device())).to(at::kCPU, at::kFloat);
  const at::Tensor inner_I = at::gelu(at::mv(weight_IS_, logits_S) + bias_I_);
  return at::sigmoid(at::mv(last_weight_1I_, inner_I) + last_bias_1_).item<double>();
}

std::shared_ptr<const EndReadout> find_end_readout(const fs::path& path, int64_t vocab_size,
                                                   bool has_adapter) {
  if (path.empty()) return nullptr;
  const fs::path model = fs::weakly_canonical(path);  // it may be a link
  const fs::path file = fs::is_directory(model)
                            ? model / kInFolder
                            : fs::path(model).replace_extension(".ends.safetensors");
  if (!fs::exists(file)) return nullptr;
  auto readout = std::make_shared<const EndReadout>(file, vocab_size);
  std::string why;
  if (has_adapter) {
    why = "it was trained for the model without an adapter";
  } else if (readout->model().empty()) {
    why = "it does not say which model it was trained for (`scripts/train_end_readout.py --bind`)";
  } else if (fingerprint_of(model) != readout->model()) {
    why = "it was trained for another model than this one";
  }
  if (why.empty()) return readout;
  spdlog::warn("{}: not used: {}", file.string(), why);
  return nullptr;
}

}  // namespace predgen
