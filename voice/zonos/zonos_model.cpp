#include "voice/zonos/zonos_model.h"

#include <ATen/core/grad_mode.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "model/row_product.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"

namespace predgen {
namespace {

// 2816 positions hold the longest clip of the usual limit, 30 s, and its text.
constexpr int64_t kBuckets[] = {256, 512, 1024, 1536, 2048, 2816, 8192, kZonosMaxPositions};
constexpr int64_t kPositions = 4;  // this dimension of the storage

uint64_t next_identity() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

at::Tensor first_positions(const at::Tensor& storage, int64_t length) {
  return storage.narrow(kPositions, 0, length);
}

}  // namespace

int64_t ZonosCache::bucket(int64_t length) {
  for (const int64_t size : kBuckets) {
    if (length <= size) return size;
  }
  throw UserError(
      "text and audio take {} positions, but the voice model holds only {}: shorten "
      "the text or the audio",
      length, kZonosMaxPositions);
}

ZonosCache::ZonosCache(const ZonosConfig& config, int64_t rows, const at::TensorOptions& options)
    : storage_(at::empty(
          {config.num_layers, 2, rows, config.num_kv_heads, bucket(0), config.head_width()},
          options)),
      identity_(next_identity()) {
  PREDGEN_CHECK(rows == 1 || rows == 2, "{} rows", rows);
}

void ZonosCache::reserve(int64_t length) {
  const int64_t wanted = bucket(length);
  if (wanted <= capacity()) return;
  std::vector<int64_t> sizes = storage_.sizes().vec();
  sizes[kPositions] = wanted;
  const at::Tensor larger = at::empty(sizes, storage_.options());
  first_positions(larger, length_).copy_(first_positions(storage_, length_));
  storage_ = larger;
}

void ZonosCache::set_length(int64_t length) {
  PREDGEN_CHECK(length >= length_ && length <= capacity(), "length {} after {} of {}", length,
                length_, capacity());
  length_ = length;
}

std::pair<at::Tensor, at::Tensor> ZonosCache::layer(int64_t index) const {
  const at::Tensor both = storage_.select(0, index);
  return {both.select(0, 0), both.select(0, 1)};
}

ZonosMatrix::ZonosMatrix(const at::Tensor& weight, Quantization quantization, at::Device device,
                         const std::string& name) {
  if (quantization == Quantization::kNone) {
    weight_ = weight;
  } else {
    quantized_ = std::make_shared<QuantizedWeight>(weight, quantization, device, name);
  }
}

at::Tensor ZonosMatrix::operator()(const at::Tensor& input) const {
  if (quantized_) return (*quantized_)(input);
  return few_row_linear(input, weight_, {});
}

// Shapes: R rows, T new positions, S positions attended to, D width, H query heads, G key/value
// heads, E head width, K codebooks, V logits.

namespace {

constexpr double kRopeBase = 10000.0;

/// e^(i * position * frequency) of each pair of a head: complex64 [positions, E/2].
at::Tensor make_rotations(int64_t head_width, at::Device device) {
  const at::Tensor exponents = at::arange(0, head_width, 2, at::kFloat) / head_width;
  const at::Tensor frequencies = 1.0 / at::pow(at::Scalar(kRopeBase), exponents);
  const at::Tensor angles = at::outer(at::arange(kZonosMaxPositions, at::kFloat), frequencies);
  return at::polar(at::ones_like(angles), angles).to(device);
}

/// Rotates the pairs (x[2i], x[2i+1]) of every head in float32. `rotation` [T,1,E/2].
at::Tensor rotate(const at::Tensor& x_RTHE, const at::Tensor& rotation) {
  std::vector<int64_t> pairs = x_RTHE.sizes().vec();
  pairs.back() /= 2;
  pairs.push_back(2);
  const at::Tensor complex = at::view_as_complex(x_RTHE.to(at::kFloat).reshape(pairs));
  return at::view_as_real(complex * rotation).flatten(-2).to(x_RTHE.scalar_type());
}

}  // namespace

ZonosBackbone::ZonosBackbone(const ZonosConfig& config,
                             const std::function<at::Tensor(const std::string&)>& weight,
                             at::Device device, Quantization quantization)
    : config_(config) {
  const auto take_matrix = [&](const std::string& name) {
    return ZonosMatrix(weight(name + ".weight"), quantization, device, name);
  };
  const auto take_all = [&](const char* table) {
    std::vector<at::Tensor> tables;
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      tables.push_back(weight(fmt::format("{}.{}.weight", table, k)));
    }
    return at::cat(tables);
  };
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const std::string name = fmt::format("backbone.layers.{}.", i);
    Layer layer;
    layer.norm_weight = weight(name + "norm.weight");
    layer.norm_bias = weight(name + "norm.bias");
    layer.norm2_weight = weight(name + "norm2.weight");
    layer.norm2_bias = weight(name + "norm2.bias");
    layer.qkv = take_matrix(name + "mixer.in_proj");
    layer.out = take_matrix(name + "mixer.out_proj");
    layer.up_and_gate = take_matrix(name + "mlp.fc1");
    layer.down = take_matrix(name + "mlp.fc2");
    layers_.push_back(std::move(layer));
  }
  norm_weight_ = weight("backbone.norm_f.weight");
  norm_bias_ = weight("backbone.norm_f.bias");
  embeddings_ = take_all("embeddings");
  heads_ = ZonosMatrix(take_all("heads"), quantization, device, "heads");
  options_ = embeddings_.options();
  offsets_ = (at::arange(kZonosCodebooks, at::kLong) * kZonosEmbeddings).unsqueeze(1).to(device);
  rotations_ = make_rotations(config.head_width(), device);
}

at::Tensor ZonosBackbone::embed(const at::Tensor& codes_KT) const {
  const at::Tensor rows_KTD = at::embedding(embeddings_, codes_KT + offsets_);
  at::Tensor sum_TD = rows_KTD[0];
  // Added one by one, each sum rounded to the type of the weights, as in the model's training.
  for (int64_t k = 1; k < kZonosCodebooks; ++k) sum_TD = sum_TD + rows_KTD[k];
  return sum_TD;
}

at::Tensor ZonosBackbone::attention(const Layer& layer, const at::Tensor& input_RTD,
                                    const at::Tensor& rotation, const at::Tensor& mask,
                                    const at::Tensor& positions_T, const at::Tensor& keys,
                                    const at::Tensor& values) const {
  const int64_t R = input_RTD.size(0), T = input_RTD.size(1), S = mask.size(1);
  const int64_t H = config_.num_heads, G = config_.num_kv_heads, E = config_.head_width();
  const at::Tensor qkv = layer.qkv(input_RTD).view({R, T, H + 2 * G, E});
  const at::Tensor queries_and_keys = rotate(qkv.narrow(2, 0, H + G), rotation);
  keys.index_copy_(2, positions_T, queries_and_keys.narrow(2, H, G).transpose(1, 2));
  values.index_copy_(2, positions_T, qkv.narrow(2, H + G, G).transpose(1, 2));
  // Heads that share a key head are adjacent: to it they are further queries.
  const at::Tensor queries =
      queries_and_keys.narrow(2, 0, H).transpose(1, 2).reshape({R, G, H / G * T, E});
  const at::Tensor attended =
      at::scaled_dot_product_attention(queries, keys.narrow(2, 0, S), values.narrow(2, 0, S), mask);
  return layer.out(attended.reshape({R, H, T, E}).transpose(1, 2).reshape({R, T, H * E}));
}

at::Tensor ZonosBackbone::forward(const at::Tensor& input_RTD, const at::Tensor& positions_T,
                                  int64_t num_seen, const ZonosCache& cache) const {
  const auto normed = [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return at::layer_norm(x, {config_.width}, weight, bias, config_.norm_epsilon);
  };
  const at::Tensor rotation = rotations_.index_select(0, positions_T).unsqueeze(1);
  const at::Tensor hidden_TS =
      at::arange(num_seen, positions_T.options()) > positions_T.unsqueeze(1);
  const at::Tensor mask = at::zeros(hidden_TS.sizes(), options_)
                              .masked_fill_(hidden_TS, -std::numeric_limits<double>::infinity())
                              .repeat({config_.num_heads / config_.num_kv_heads, 1});
  at::Tensor x = input_RTD;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto [keys, values] = cache.layer(static_cast<int64_t>(i));
    x = x + attention(layer, normed(x, layer.norm_weight, layer.norm_bias), rotation, mask,
                      positions_T, keys, values);
    const auto halves =
        layer.up_and_gate(normed(x, layer.norm2_weight, layer.norm2_bias)).chunk(2, -1);
    x = x + layer.down(halves[0] * at::silu(halves[1]));
  }
  return normed(x, norm_weight_, norm_bias_);
}

at::Tensor ZonosBackbone::guided_logits(const at::Tensor& hidden_RD,
                                        const at::Tensor& scale) const {
  const at::Tensor logits =
      heads_(hidden_RD).to(at::kFloat).view({hidden_RD.size(0), kZonosCodebooks, kZonosLogits});
  if (logits.size(0) == 1) return logits[0];
  return logits[1] + (logits[0] - logits[1]) * scale;
}

namespace fs = std::filesystem;

ZonosModel::ZonosModel(const ZonosConfig& config, PrefixConditioner conditioner,
                       ZonosBackbone backbone)
    : config_(config), conditioner_(std::move(conditioner)), backbone_(std::move(backbone)) {}

SafetensorsFile open_zonos_weights(const ZonosConfig& config, const fs::path& folder) {
  const fs::path file = folder / "model.safetensors";
  SafetensorsFile stored(file);
  std::vector<std::string> names;
  for (const auto& [name, entry] : stored.entries()) names.push_back(name);
  check_weights(
      config.weight_layout(), names, [&](const std::string& name) { return stored.tensor(name); },
      file.string(), "a Zonos transformer");
  return stored;
}

std::unique_ptr<ZonosModel> ZonosModel::load(const fs::path& folder, const LoadOptions& options) {
  const at::NoGradGuard no_grad;
  if (options.quantization != Quantization::kNone && options.quantization != Quantization::kInt8) {
    throw UserError(std::string("the voice model's weights can be quantised to int8 only"));
  }
  const at::Device device = parse_device(options.device);
  const at::ScalarType dtype = choose_dtype(options, device);
  const ZonosConfig config = ZonosConfig::load(folder);
  const SafetensorsFile stored = open_zonos_weights(config, folder);
  // A copy: the mapping of the file goes away with this function.
  const auto weight = [&](const std::string& name) {
    return stored.tensor(name).to(device, dtype, /*non_blocking=*/false, /*copy=*/true);
  };
  return std::unique_ptr<ZonosModel>(
      new ZonosModel(config, PrefixConditioner(config, weight),
                     ZonosBackbone(config, weight, device, options.quantization)));
}

at::Tensor ZonosModel::make_prefix(const ZonosConditioning& conditioning) const {
  const at::NoGradGuard no_grad;
  return conditioner_(conditioning);
}

ZonosCache ZonosModel::make_cache(double cfg_scale) const {
  return ZonosCache(config_, ZonosCache::rows_for(cfg_scale), backbone_.options());
}

at::Tensor ZonosModel::prefill(const at::Tensor& prefix_2PD, const at::Tensor& codes_KT,
                               double cfg_scale, ZonosCache& cache) const {
  const at::NoGradGuard no_grad;
  PREDGEN_CHECK(cache.length() == 0, "the cache holds {} positions", cache.length());
  const at::Tensor prefix = prefix_2PD.narrow(0, 0, cache.rows()).to(backbone_.options());
  const at::Tensor columns = backbone_.embed(codes_KT.to(device())).unsqueeze(0);
  const at::Tensor input = at::cat({prefix, columns.expand({cache.rows(), -1, -1})}, 1);
  const int64_t T = input.size(1);
  cache.reserve(T);
  const at::Tensor positions = at::arange(T, at::TensorOptions(at::kLong).device(device()));
  const at::Tensor hidden = backbone_.forward(input, positions, T, cache);
  cache.set_length(T);
  return backbone_
      .guided_logits(hidden.select(1, T - 1),
                     at::scalar_tensor(cfg_scale, backbone_.options().dtype(at::kFloat)))
      .to(at::kCPU);
}

at::Tensor ZonosModel::step_on_device(const at::Tensor& codes_K, const at::Tensor& position,
                                      const at::Tensor& scale, int64_t num_seen,
                                      const ZonosCache& cache) const {
  const at::NoGradGuard no_grad;
  const at::Tensor input = backbone_.embed(codes_K.unsqueeze(1)).expand({cache.rows(), 1, -1});
  const at::Tensor hidden = backbone_.forward(input, position, num_seen, cache);
  return backbone_.guided_logits(hidden.select(1, 0), scale);
}

at::Tensor ZonosModel::step(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache) const {
  const at::NoGradGuard no_grad;
  const int64_t position = cache.length();
  PREDGEN_CHECK(position > 0, "a step before the prefix");
  cache.reserve(position + 1);
  const at::Tensor logits = step_on_device(
      codes_K.to(device()), at::full({1}, position, at::TensorOptions(at::kLong).device(device())),
      at::scalar_tensor(cfg_scale, backbone_.options().dtype(at::kFloat)), position + 1, cache);
  cache.set_length(position + 1);
  return logits.to(at::kCPU);
}

namespace {

at::Tensor at_position(const ZonosCache& cache, int64_t position) {
  return cache.storage().select(4, position);
}

}  // namespace

/// What a graph reads and writes: addresses are baked into it, so none of these ever move.
struct GraphedStep::Graph {
  Graph(const ZonosModel& model, const GraphMemory& memory, int64_t capacity, int64_t rows)
      : cache(model.config(), rows, at::TensorOptions(model.dtype()).device(model.device())) {
    cache.reserve(capacity);
    cache.storage().zero_();  // masked positions are multiplied by zero: they must be finite
    const at::TensorOptions on_device = at::TensorOptions().device(model.device());
    codes = at::zeros({kZonosCodebooks}, on_device.dtype(at::kLong));
    position = at::zeros({1}, on_device.dtype(at::kLong));
    scale = at::ones({}, on_device.dtype(at::kFloat));
    graph = memory.capture(
        [&] { return model.step_on_device(codes, position, scale, cache.capacity(), cache); });
  }

  ZonosCache cache;
  at::Tensor codes, position, scale;
  std::unique_ptr<CapturedGraph> graph;
  uint64_t owner = 0;    // identity of the cache whose positions are in ours
  int64_t num_held = 0;  // number of positions
};

GraphedStep::GraphedStep(const ZonosModel& model, std::unique_ptr<const GraphMemory> memory)
    : model_(model), memory_(std::move(memory)) {}
GraphedStep::~GraphedStep() = default;

std::unique_ptr<GraphedStep> GraphedStep::make(const ZonosModel& model) {
  auto memory = make_graph_memory(model.device(), StreamPriority::kLow);
  if (!memory) return nullptr;
  return std::unique_ptr<GraphedStep>(new GraphedStep(model, std::move(memory)));
}

GraphedStep::Graph& GraphedStep::graph_for(int64_t capacity, int64_t rows) {
  std::unique_ptr<Graph>& graph = graphs_[{capacity, rows}];
  if (!graph) graph = std::make_unique<Graph>(model_, *memory_, capacity, rows);
  return *graph;
}

void GraphedStep::prepare(int64_t length, double cfg_scale) {
  const at::NoGradGuard no_grad;
  const int64_t rows = ZonosCache::rows_for(cfg_scale);
  for (int64_t size = 1; size <= length; size = ZonosCache::bucket(size) + 1) {
    graph_for(ZonosCache::bucket(size), rows);
  }
}

at::Tensor GraphedStep::run(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache) {
  const at::NoGradGuard no_grad;
  const int64_t position = cache.length();
  PREDGEN_CHECK(position > 0, "a step before the prefix");
  cache.reserve(position + 1);
  Graph& graph = graph_for(cache.capacity(), cache.rows());
  if (graph.owner != cache.identity() || graph.num_held != position) {
    graph.cache.storage().narrow(4, 0, position).copy_(cache.storage().narrow(4, 0, position));
    graph.owner = cache.identity();
  }
  graph.codes.copy_(codes_K);
  graph.position.fill_(position);
  graph.scale.fill_(cfg_scale);
  const at::Tensor& logits = graph.graph->replay();
  at_position(cache, position).copy_(at_position(graph.cache, position));
  cache.set_length(position + 1);
  graph.num_held = position + 1;
  return logits.to(at::kCPU);
}

}  // namespace predgen
