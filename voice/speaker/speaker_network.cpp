#include "voice/speaker/speaker_network.h"

#include <cmath>

#include "core/error.h"
#include "model/weights/weight_files.h"

namespace predgen {
namespace {

constexpr int64_t kFftSize = 512, kFeatureWindow = 400, kFeatureHop = 160;

double hz_to_mel(double hz) { return 2595 * std::log10(1 + hz / 700); }

/// Triangles with peak 1 and corners evenly spaced on the HTK mel scale: [80, 257]. In float32, as
/// in the network's training.
at::Tensor mel_filters() {
  const double nyquist = kSpeakerRate / 2.0;
  const at::Tensor hz_F = at::linspace(0, nyquist, kFftSize / 2 + 1);
  const at::Tensor mel_C = at::linspace(hz_to_mel(0), hz_to_mel(nyquist), kSpeakerBands + 2);
  const at::Tensor corner_C1 = (at::pow(10.0, mel_C / 2595.0) - 1).mul(700.0).unsqueeze(1);
  const at::Tensor width_C1 =
      corner_C1.narrow(0, 1, kSpeakerBands + 1) - corner_C1.narrow(0, 0, kSpeakerBands + 1);
  const at::Tensor above_CF = corner_C1 - hz_F;
  const at::Tensor rising =
      -above_CF.narrow(0, 0, kSpeakerBands) / width_C1.narrow(0, 0, kSpeakerBands);
  const at::Tensor falling =
      above_CF.narrow(0, 2, kSpeakerBands) / width_C1.narrow(0, 1, kSpeakerBands);
  return at::minimum(rising, falling).clamp_min(0);
}

}  // namespace

at::Tensor speaker_features(const at::Tensor& samples_N) {
  const at::Tensor window = at::hann_window(kFeatureWindow, /*periodic=*/true);
  const at::Tensor spectrum_FT =
      at::stft(samples_N, kFftSize, kFeatureHop, kFeatureWindow, window, /*center=*/true, "reflect",
               /*normalized=*/false, /*onesided=*/true, /*return_complex=*/true);
  const at::Tensor power_FT = spectrum_FT.abs().square();
  const at::Tensor bands_BT = at::mm(mel_filters(), power_FT).add(1e-6).log();
  return bands_BT - bands_BT.mean(1, /*keepdim=*/true);
}

namespace {

constexpr double kBatchNormEpsilon = 1e-5, kSimamLambda = 1e-4;

void add_norm(std::vector<WeightSpec>& layout, const std::string& name, int64_t size) {
  for (const char* part : {"weight", "bias", "running_mean", "running_var"}) {
    layout.push_back({name + "." + part, {size}});
  }
}

/// An inference batch norm as a factor and an addend per channel, in float64.
std::pair<at::Tensor, at::Tensor> norm_as_affine(const SafetensorsFile& file,
                                                 const std::string& name) {
  const auto part = [&](const char* key) { return file.tensor(name + "." + key).to(at::kDouble); };
  const at::Tensor scale = part("weight") / (part("running_var") + kBatchNormEpsilon).sqrt();
  return {scale, part("bias") - part("running_mean") * scale};
}

/// SimAM (Yang et al., ICML 2021): weighs each value by how far it is from the mean of its channel.
/// x [1,C,H,W].
at::Tensor simam(const at::Tensor& x) {
  const auto num_others = static_cast<double>(x.size(2) * x.size(3) - 1);
  const at::Tensor distance = (x - x.mean({2, 3}, true)).square_();
  const at::Tensor variance = distance.sum({2, 3}, true) / num_others;
  return (distance / ((variance + kSimamLambda) * 4)).add_(0.5).sigmoid_().mul_(x);
}

/// True for a stage's first block, from the second stage on.
bool halves(size_t stage, int64_t block) { return stage > 0 && block == 0; }

std::string block_name(size_t stage, int64_t block) {
  return fmt::format("front.layer{}.{}", stage + 1, block);
}

}  // namespace

std::vector<WeightSpec> speaker_network_layout(const SpeakerNetworkSizes& sizes) {
  std::vector<WeightSpec> layout;
  int64_t in = sizes.channels;
  layout.push_back({"front.conv1.weight", {in, 1, 3, 3}});
  add_norm(layout, "front.bn1", in);
  for (size_t stage = 0; stage < sizes.blocks.size(); ++stage) {
    const int64_t out = sizes.channels << stage;
    for (int64_t i = 0; i < sizes.blocks[stage]; ++i) {
      const std::string block = block_name(stage, i);
      layout.push_back({block + ".conv1.weight", {out, in, 3, 3}});
      add_norm(layout, block + ".bn1", out);
      layout.push_back({block + ".conv2.weight", {out, out, 3, 3}});
      add_norm(layout, block + ".bn2", out);
      if (halves(stage, i)) {
        layout.push_back({block + ".downsample.0.weight", {out, in, 1, 1}});
        add_norm(layout, block + ".downsample.1", out);
      }
      in = out;
    }
  }
  const int64_t size = in * kSpeakerBands / 8;  // three halvings
  layout.push_back({"pooling.attention.0.weight", {sizes.attention, size, 1}});
  layout.push_back({"pooling.attention.0.bias", {sizes.attention}});
  add_norm(layout, "pooling.attention.2", sizes.attention);
  layout.push_back({"pooling.attention.3.weight", {size, sizes.attention, 1}});
  layout.push_back({"pooling.attention.3.bias", {size}});
  layout.push_back({"bottleneck.weight", {sizes.output, 2 * size}});
  layout.push_back({"bottleneck.bias", {sizes.output}});
  return layout;
}

SpeakerNetwork::SpeakerNetwork(const std::filesystem::path& path,
                               const SpeakerNetworkSizes& sizes) {
  const SafetensorsFile file(path);
  std::vector<std::string> names;
  for (const auto& [name, entry] : file.entries()) {
    if (!name.ends_with(".num_batches_tracked")) names.push_back(name);
  }
  check_weights(
      speaker_network_layout(sizes), names,
      [&](const std::string& name) { return file.tensor(name); }, path.string(),
      "Zonos' speaker network");
  const auto matrix = [&](const std::string& name) {
    return file.load(name, at::kCPU, at::kFloat).flatten(1);
  };
  const auto column = [&](const std::string& name) {
    return file.load(name, at::kCPU, at::kFloat).unsqueeze(1);
  };
  front_ = fold(file, "front.conv1", "front.bn1", 1);
  for (size_t stage = 0; stage < sizes.blocks.size(); ++stage) {
    for (int64_t i = 0; i < sizes.blocks[stage]; ++i) {
      const std::string name = block_name(stage, i);
      const int64_t stride = halves(stage, i) ? 2 : 1;
      Block block{fold(file, name + ".conv1", name + ".bn1", stride),
                  fold(file, name + ".conv2", name + ".bn2", 1),
                  {}};
      if (stride == 2) {
        block.shortcut = fold(file, name + ".downsample.0", name + ".downsample.1", stride);
      }
      blocks_.push_back(std::move(block));
    }
  }
  attention_in_weight_ = matrix("pooling.attention.0.weight");
  attention_in_bias_ = column("pooling.attention.0.bias");
  const auto [scale, shift] = norm_as_affine(file, "pooling.attention.2");
  attention_scale_ = scale.to(at::kFloat).unsqueeze(1);
  attention_shift_ = shift.to(at::kFloat).unsqueeze(1);
  attention_out_weight_ = matrix("pooling.attention.3.weight");
  attention_out_bias_ = column("pooling.attention.3.bias");
  bottleneck_weight_ = matrix("bottleneck.weight");
  bottleneck_bias_ = column("bottleneck.bias");
}

SpeakerNetwork::Conv SpeakerNetwork::fold(const SafetensorsFile& file, const std::string& conv,
                                          const std::string& norm, int64_t stride) {
  const auto [scale, shift] = norm_as_affine(file, norm);
  const at::Tensor weight = file.tensor(conv + ".weight").to(at::kDouble);
  return {(weight * scale.view({-1, 1, 1, 1})).to(at::kFloat), shift.to(at::kFloat), stride};
}

at::Tensor SpeakerNetwork::Conv::operator()(const at::Tensor& x) const {
  return at::conv2d(x, weight, bias, stride, /*padding=*/weight.size(2) / 2);
}

at::Tensor SpeakerNetwork::Block::operator()(const at::Tensor& x) const {
  const at::Tensor y = simam(second(first(x).relu_()));
  return (y + (shortcut.weight.defined() ? shortcut(x) : x)).relu_();
}

/// Mean and deviation over time, weighted by attention: [2E,1].
at::Tensor SpeakerNetwork::pool(const at::Tensor& x_ET) const {
  const at::Tensor hidden = at::addmm(attention_in_bias_, attention_in_weight_, x_ET).relu_();
  const at::Tensor normed = hidden * attention_scale_ + attention_shift_;
  const at::Tensor weights_ET =
      at::addmm(attention_out_bias_, attention_out_weight_, normed).softmax(1);
  const at::Tensor mean = (x_ET * weights_ET).sum(1, true);
  const at::Tensor square = (x_ET.square() * weights_ET).sum(1, true);
  return at::cat({mean, (square - mean.square()).clamp_min(1e-5).sqrt()});
}

at::Tensor SpeakerNetwork::operator()(const at::Tensor& features_BT) const {
  at::Tensor x = front_(features_BT.unsqueeze(0).unsqueeze(0)).relu_();
  for (const Block& block : blocks_) x = block(x);
  const at::Tensor x_ET = x.squeeze(0).flatten(0, 1);
  return at::addmm(bottleneck_bias_, bottleneck_weight_, pool(x_ET)).squeeze(1);
}

}  // namespace predgen
