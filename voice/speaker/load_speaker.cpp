#include "voice/speaker/load_speaker.h"

#include <cmath>
#include <cstdlib>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"
#include "voice/waveform.h"

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

namespace {

constexpr const char* kName = "speaker_embedding";

}  // namespace

void save_speaker_embedding(const std::filesystem::path& file, const at::Tensor& embedding) {
  PREDGEN_CHECK(embedding.sizes() == at::IntArrayRef{kSpeakerEmbeddingSize}, "embedding is {}",
                c10::str(embedding.sizes()));
  write_safetensors(file, {{kName, embedding.to(at::kCPU, at::kFloat)}});
}

at::Tensor load_speaker_embedding(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  std::vector<std::string> names;
  for (const auto& [name, entry] : file.entries()) names.push_back(name);
  check_weights(
      {{kName, {kSpeakerEmbeddingSize}}}, names,
      [&](const std::string& name) { return file.tensor(name); }, path.string(),
      "a speaker embedding");
  const at::Tensor embedding = file.tensor(kName).to(at::kFloat);
  if (!at::isfinite(embedding).all().item<bool>()) {
    throw UserError("{}: holds numbers that are not finite", path.string());
  }
  return embedding.clone();
}

namespace {

constexpr int64_t kMaxSeconds = 300;  // the first layers' outputs then take 0.6 GB each

}  // namespace

SpeakerEncoder::SpeakerEncoder(const std::filesystem::path& network_file,
                               const std::filesystem::path& projection_file,
                               const SpeakerNetworkSizes& sizes)
    : network_(network_file, sizes) {
  const SafetensorsFile file(projection_file);
  std::vector<std::string> names;
  for (const auto& [name, entry] : file.entries()) names.push_back(name);
  check_weights(
      {{"weight", {kSpeakerEmbeddingSize, sizes.output}}, {"bias", {kSpeakerEmbeddingSize}}}, names,
      [&](const std::string& name) { return file.tensor(name); }, projection_file.string(),
      "the projection after Zonos' speaker network");
  weight_ = file.load("weight", at::kCPU, at::kFloat);
  bias_ = file.load("bias", at::kCPU, at::kFloat);
}

at::Tensor SpeakerEncoder::embed(const Waveform& waveform) const {
  const int64_t num_samples = waveform.samples_CN.size(1);
  if (num_samples > kMaxSeconds * waveform.sample_rate) {
    throw UserError("{}: is longer than {} seconds; 10 to 30 seconds of the voice are enough",
                    waveform.name, kMaxSeconds);
  }
  const at::Tensor samples_N = mono_at(waveform, kSpeakerRate);
  if (samples_N.size(0) < kSpeakerMinSamples) {
    throw UserError("{}: is too short: {} samples at {} Hz, at least {} are needed", waveform.name,
                    samples_N.size(0), kSpeakerRate, kSpeakerMinSamples);
  }
  const at::Tensor embedding = at::addmv(bias_, weight_, network_(speaker_features(samples_N)));
  if (!at::isfinite(embedding).all().item<bool>()) {
    throw UserError(
        "{}: gives a speaker embedding that is not finite: its samples go far beyond 1, or the "
        "speaker network's files are damaged",
        waveform.name);
  }
  return embedding;
}

namespace {

namespace fs = std::filesystem;

constexpr double kMinSeconds = 1;    // less is too little to identify a voice
constexpr double kSilence = 0.0005;  // -66 dB

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "predgen" / "voices";
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "predgen" / "voices";
  return {};
}

/// Cheaper than hashing 400 MB, and as reliable for files that nobody edits.
std::string identity_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) {
    throw UserError("{} is missing: scripts/convert_pickled.py makes it from Zyphra's .pt file",
                    file.string());
  }
  return fmt::format("{} {}", size, fs::last_write_time(file).time_since_epoch().count());
}

/// UserError for sound without a voice.
Waveform read_recording(const fs::path& file) {
  Waveform recording = read_audio_file(file);
  const double seconds = static_cast<double>(recording.samples_CN.size(1)) /
                         static_cast<double>(recording.sample_rate);
  if (seconds < kMinSeconds) {
    throw UserError("{}: holds {:.2f} seconds of sound, too little for a voice: record 10 to 30",
                    file.string(), seconds);
  }
  if (recording.samples_CN.abs().max().item<double>() < kSilence) {
    throw UserError("{}: holds only silence: record 10 to 30 seconds of the voice", file.string());
  }
  return recording;
}

/// The embedding computed before, if any.
std::optional<at::Tensor> load_cached(const fs::path& file) {
  std::error_code error;  // an unreadable folder counts as empty, too
  if (!fs::exists(file, error)) return {};
  try {
    return load_speaker_embedding(file);
  } catch (const UserError& bad) {
    spdlog::warn("{}; it is computed again", bad.what());
    return {};
  }
}

void keep(const fs::path& file, const at::Tensor& embedding) {
  try {
    if (file.empty())
      throw UserError(std::string("neither XDG_CACHE_HOME nor HOME names a folder"));
    make_folder(file.parent_path());
    save_speaker_embedding(file, embedding);
  } catch (const std::exception& error) {
    spdlog::warn("the speaker embedding is not kept: {}", error.what());
  }
}

}  // namespace

at::Tensor load_speaker(const fs::path& file, const fs::path& speaker_model) {
  if (file.extension() == ".safetensors") return load_speaker_embedding(file);
  const fs::path network = speaker_model / "ResNet293_SimAM_ASP_base.safetensors";
  const fs::path projection = speaker_model / "ResNet293_SimAM_ASP_base_LDA-128.safetensors";
  const std::string key =
      Hasher().add_file(file).add(identity_of(network)).add(identity_of(projection)).hex();
  const fs::path folder = cache_folder();
  const fs::path cached = folder.empty() ? folder : folder / fmt::format("{}.safetensors", key);
  if (const auto known = load_cached(cached)) return *known;
  const Waveform recording = read_recording(file);
  spdlog::info("computing the speaker embedding of {}, once", file.string());
  const at::Tensor embedding = SpeakerEncoder(network, projection).embed(recording);
  keep(cached, embedding);
  return embedding;
}

}  // namespace predgen
