#include "voice/dac/dac_weights.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.h"
#include "model/config_fields.h"
#include "model/weights/weight_files.h"

namespace predgen {
namespace {

/// Read here, or without effect on encoding and decoding.
const std::set<std::string> kKnown{
    "encoder_hidden_size", "downsampling_ratios", "decoder_hidden_size", "n_codebooks",
    "codebook_size", "codebook_dim", "sampling_rate", "model_type", "upsampling_ratios",
    "hidden_size", "hop_length",
    // training
    "quantizer_dropout", "commitment_loss_weight", "codebook_loss_weight",
    // what any transformers configuration may contain
    "architectures", "dtype", "torch_dtype", "transformers_version", "_name_or_path",
    "_commit_hash", "return_dict", "output_attentions", "output_hidden_states",
    "chunk_size_feed_forward", "is_encoder_decoder", "id2label", "label2id", "problem_type"};

constexpr int64_t kMostStrides = 8, kLargestStride = 64, kMostCodebooks = 1024;

std::vector<int64_t> read_strides(const ConfigFields& fields, const char* key) {
  const auto strides = json_get<std::vector<int64_t>>(fields.json(), key, fields.where());
  if (strides.empty() || strides.size() > kMostStrides) {
    fields.fail(key, fmt::format("must hold 1 to {} numbers", kMostStrides));
  }
  for (const int64_t stride : strides) {
    // An odd one makes frames of uneven length.
    if (stride < 2 || stride > kLargestStride || stride % 2 != 0) {
      fields.fail(key, fmt::format("must hold even numbers from 2 to {}, not {}; of the published "
                                   "codecs descript/dac_44khz can be used",
                                   kLargestStride, stride));
    }
  }
  return strides;
}

/// transformers computes these fields from others when it makes a configuration.
void check_derived(const ConfigFields& fields, const DacConfig& config) {
  const std::vector<int64_t> reversed(config.strides.rbegin(), config.strides.rend());
  fields.only("upsampling_ratios", reversed);
  fields.only("hidden_size", config.latent_size());
  fields.only("hop_length", config.hop());
}

class Layout {
 public:
  void conv(const std::string& name, int64_t out, int64_t in, int64_t kernel) {
    add(name + ".weight", {out, in, kernel});
    add(name + ".bias", {out});
  }
  void transposed_conv(const std::string& name, int64_t in, int64_t out, int64_t kernel) {
    add(name + ".weight", {in, out, kernel});
    add(name + ".bias", {out});
  }
  void snake(const std::string& name, int64_t size) { add(name + ".alpha", {1, size, 1}); }
  void residual_units(const std::string& block, int64_t size) {
    for (int unit = 1; unit <= 3; ++unit) {
      const std::string name = fmt::format("{}.res_unit{}", block, unit);
      snake(name + ".snake1", size);
      conv(name + ".conv1", size, size, 7);
      snake(name + ".snake2", size);
      conv(name + ".conv2", size, size, 1);
    }
  }
  void add(const std::string& name, std::vector<int64_t> shape) {
    weights.push_back({name, std::move(shape)});
  }
  std::vector<WeightSpec> weights;
};

}  // namespace

int64_t DacConfig::hop() const {
  return std::accumulate(strides.begin(), strides.end(), int64_t{1}, std::multiplies<>());
}

int64_t DacConfig::latent_size() const { return encoder_size << strides.size(); }

DacConfig DacConfig::load(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "config.json";
  const Json json = read_json(file);
  if (!json.is_object()) throw UserError("{}: must hold an object", file.string());
  const ConfigFields fields(json, file.string());
  if (fields.word("model_type", "dac") != "dac") {
    fields.fail("model_type", "must be \"dac\", not " + fields.at("model_type").dump());
  }
  for (const auto& [key, value] : json.items()) {
    if (!kKnown.contains(key) && !value.is_null()) {
      throw UserError("{}: \"{}\" is not supported", file.string(), key);
    }
  }
  DacConfig config;
  config.encoder_size = fields.size("encoder_hidden_size", config.encoder_size);
  config.decoder_size = fields.size("decoder_hidden_size", config.decoder_size);
  config.num_codebooks = fields.size("n_codebooks", config.num_codebooks);
  config.codebook_size = fields.size("codebook_size", config.codebook_size);
  config.codebook_dim = fields.size("codebook_dim", config.codebook_dim);
  config.sample_rate = fields.size("sampling_rate", config.sample_rate);
  if (fields.has("downsampling_ratios")) {
    config.strides = read_strides(fields, "downsampling_ratios");
  }
  if (config.num_codebooks > kMostCodebooks) {
    fields.fail("n_codebooks", fmt::format("must be at most {}", kMostCodebooks));
  }
  if (config.decoder_size % (int64_t{1} << config.strides.size()) != 0) {
    fields.fail("decoder_hidden_size",
                fmt::format("must be a multiple of 2^{}: it is halved by each of that many ratios",
                            config.strides.size()));
  }
  check_derived(fields, config);
  return config;
}

std::vector<WeightSpec> dac_weight_layout(const DacConfig& config) {
  Layout layout;
  const auto num_blocks = static_cast<int64_t>(config.strides.size());
  int64_t size = config.encoder_size;
  layout.conv("encoder.conv1", size, 1, 7);
  for (int64_t i = 0; i < num_blocks; ++i, size *= 2) {
    const std::string block = fmt::format("encoder.block.{}", i);
    layout.residual_units(block, size);
    layout.snake(block + ".snake1", size);
    layout.conv(block + ".conv1", 2 * size, size, 2 * config.strides[static_cast<size_t>(i)]);
  }
  layout.snake("encoder.snake1", size);
  layout.conv("encoder.conv2", size, size, 3);
  for (int64_t k = 0; k < config.num_codebooks; ++k) {
    const std::string quantizer = fmt::format("quantizer.quantizers.{}", k);
    layout.conv(quantizer + ".in_proj", config.codebook_dim, size, 1);
    layout.conv(quantizer + ".out_proj", size, config.codebook_dim, 1);
    layout.add(quantizer + ".codebook.weight", {config.codebook_size, config.codebook_dim});
  }
  layout.conv("decoder.conv1", config.decoder_size, size, 7);
  size = config.decoder_size;
  for (int64_t i = 0; i < num_blocks; ++i, size /= 2) {
    const std::string block = fmt::format("decoder.block.{}", i);
    const int64_t stride = config.strides[static_cast<size_t>(num_blocks - 1 - i)];
    layout.snake(block + ".snake1", size);
    layout.transposed_conv(block + ".conv_t1", size, size / 2, 2 * stride);
    layout.residual_units(block, size / 2);
  }
  layout.snake("decoder.snake1", size);
  layout.conv("decoder.conv2", 1, size, 7);
  return std::move(layout.weights);
}

DacWeights::DacWeights(const std::filesystem::path& folder, at::Device device)
    : config_(DacConfig::load(folder)), stored_(folder), device_(device) {
  check_weights(
      dac_weight_layout(config_), stored_.names(),
      [this](const std::string& name) { return stored_.tensor(name); }, folder.string(),
      "a DAC codec of this config.json");
}

at::Tensor DacWeights::tensor(const std::string& name) const {
  return stored_.load(name, device_, at::kFloat);
}

}  // namespace predgen
