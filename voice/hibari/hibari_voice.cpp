#include "voice/hibari/hibari_voice.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/model_names.h"
#include "hear/onnx/onnx_runtime.h"
#include "hear/onnx/onnx_session.h"
#include "text/utf8.h"
#include "voice/clauses/clause_synthesizer.h"

namespace predgen {
namespace {

/// Every occurrence of the first becomes the second, rule by rule. A word has a space on both
/// sides.
constexpr std::pair<std::string_view, std::string_view> kRules[] = {
    // Single phonemes: diphthongs, affricates, syllables without a vowel.
    {"a\u026A", "I"},
    {"a\u028A", "W"},
    {"e\u026A", "A"},
    {"o\u028A", "O"},
    {"\u0254\u026A", "Y"},
    {"d\u0292", "\u02A4"},
    {"t\u0283", "\u02A7"},
    {"\u0259l", "\u1D4Al"},
    {"\u0294_n\u0329", "t\u1D4An"},
    {"n\u0329", "\u1D4An"},
    {"_", ""},
    // Words that espeak-ng joins.
    {"n\u00F0\u0259 ", "n \u00F0\u0259 "},
    {"v\u00F0\u0259 ", "v \u00F0\u0259 "},
    // Vowels before r.
    {"i\u0259\u0279", "\u026A\u0279"},
    {"\u025C\u02D0\u0279", "\u025C\u0279"},
    {"\u025C\u02D0", "\u025C\u0279"},
    {"\u025A", "\u0259\u0279"},
    {"\u0279\u0279", "\u0279"},
    {"\u026A\u0259", "i\u0259"},
    // Lengths.
    {"o\u02D0", "\u0254"},
    {"\u02D0", ""},
    // A t between vowels, but not between words.
    {"\u027E ", "t "},
    {"\u027E", "T"},
    {"\u0294", "t"},
    // Weak vowels; the article "a" keeps its own.
    {" \u0250 ", " @ "},
    {"\u0250", "\u0259"},
    {"@", "\u0250"},
    {"\u1D7B", "\u0259"},
    // The pronoun has a stress.
    {" I ", " \u02CCI "},
    // Sounds that American English lacks.
    {"r", "\u0279"},
    {"x", "k"},
};

}  // namespace

std::string hibari_phonemes(std::string_view ipa) {
  std::string phonemes = ' ' + std::string(ipa) + ' ';
  for (const auto& [from, to] : kRules) {
    for (size_t at = 0; (at = phonemes.find(from, at)) != std::string::npos; at += to.size()) {
      phonemes.replace(at, from.size(), to);
    }
  }
  return phonemes.substr(1, phonemes.size() - 2);
}

HibariAlphabet::HibariAlphabet(const std::filesystem::path& file) {
  const Json vocabulary = read_json(file);
  const auto fail = [&](const std::string& key) {
    throw UserError("{}: is no vocabulary of Hibari: \"{}\" is not a character with an id from 1",
                    file.string(), key);
  };
  if (!vocabulary.is_object() || vocabulary.empty()) fail("");
  for (const auto& [key, id] : vocabulary.items()) {
    size_t end = 0;
    if (!key.empty()) next_character(key, end);
    const bool is_one = !key.empty() && end == key.size();
    if (!is_one || !id.is_number_integer() || id.get<int64_t>() < 1) fail(key);
    size_t at = 0;
    ids_.emplace(next_character(key, at), id.get<int64_t>());
  }
}

std::vector<int64_t> HibariAlphabet::ids(std::string_view phonemes) const {
  std::vector<int64_t> ids{0};
  for (size_t at = 0; at < phonemes.size();) {
    const auto found = ids_.find(next_character(phonemes, at));
    if (found != ids_.end()) ids.push_back(found->second);
  }
  if (ids.size() == 1) return {};
  ids.push_back(0);
  return ids;
}

namespace {

constexpr int64_t kRate = 24000, kHop = 300, kWindow = 1200, kOverlap = kWindow / kHop;
constexpr float kLeastPitch = 40, kHighest = 11000;  // Hz
constexpr double kMostLogarithm = 7;                 // of a magnitude
// LibTorch computes up to this many on the calling thread.
constexpr int64_t kFramesAtOnce = 80;

at::Tensor magnitude(const at::Tensor& logarithm) {
  return logarithm.clamp_max(kMostLogarithm).exp();
}

/// The pitch at every sample [count * 300] of frames from `begin` on: linearly interpolated between
/// frame centres. `padded` has one more frame at each end.
at::Tensor pitch_of_samples(const at::Tensor& padded, int64_t begin, int64_t count) {
  const auto frames = [&](int64_t shift) {
    return padded.slice(0, begin + shift, begin + shift + count).unsqueeze(1);
  };
  const at::Tensor place = (at::arange(kHop, at::kFloat) + 0.5) / kHop - 0.5;  // from the middle
  const at::Tensor early = place.slice(0, 0, kHop / 2) + 1, late = place.slice(0, kHop / 2);
  return at::cat({frames(0) * (1 - early) + frames(1) * early,
                  frames(1) * (1 - late) + frames(2) * late},
                 1)
      .reshape(-1);
}

}  // namespace

at::Tensor hibari_pulses(const at::Tensor& pitch_F) {
  const int64_t num_frames = pitch_F.size(0);
  const at::Tensor padded =
      at::cat({pitch_F.slice(0, 0, 1), pitch_F, pitch_F.slice(0, num_frames - 1)});
  std::vector<at::Tensor> parts;
  double cycles = 0;  // in samples times Hz
  for (int64_t begin = 0; begin < num_frames; begin += kFramesAtOnce) {
    const at::Tensor pitch =
        pitch_of_samples(padded, begin, std::min(kFramesAtOnce, num_frames - begin));
    const at::Tensor voiced_pitch = pitch.clamp_min(kLeastPitch);
    const at::Tensor sums = at::cumsum(voiced_pitch, 0, at::kDouble) + cycles;
    cycles = sums[-1].item<double>();
    const at::Tensor turn =
        ((sums / static_cast<double>(kRate)).frac() * (2 * std::numbers::pi)).to(at::kFloat);
    // sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2, whose limit at t = 0 is H
    const at::Tensor harmonics = (kHighest / voiced_pitch).floor() + 0.5;
    const at::Tensor half = (turn * 0.5).sin() * 2;
    const at::Tensor sum =
        at::where(half.abs() <= 2e-3, harmonics, (harmonics * turn).sin() / half) - 0.5;
    parts.push_back(at::where(pitch > kLeastPitch, sum, at::zeros({}, at::kFloat)));
  }
  return at::cat(parts);
}

HibariSound::HibariSound(HibariFrames frames)
    : frames_(std::move(frames)), window_(at::hann_window(kWindow, at::kFloat)), open_(kWindow) {
  const at::Tensor pulses = hibari_pulses(frames_.pitch_F).unsqueeze(0);
  PREDGEN_CHECK(num_frames() * kHop > kWindow / 2, "{} frames are too few", num_frames());
  pulses_ = at::reflection_pad1d(pulses, {kWindow / 2, kWindow / 2}).squeeze(0);
}

at::Tensor HibariSound::spectrum(int64_t begin, const at::Tensor& noise_FB) const {
  const int64_t count = noise_FB.size(0);
  const at::Tensor source =
      pulses_.slice(0, begin * kHop, (begin + count - 1) * kHop + kWindow).unfold(0, kWindow, kHop);
  const auto part = [&](const at::Tensor& values) {
    return values.slice(1, begin, begin + count).t();
  };
  const at::Tensor turn = part(frames_.turn_BF).tanh() * std::numbers::pi;
  return at::fft_rfft(source * (window_ / static_cast<double>(kWindow / 4))) *
             at::polar(magnitude(part(frames_.voice_BF)), turn) +
         noise_FB * magnitude(part(frames_.noise_BF)) +
         at::polar(magnitude(part(frames_.rest_BF)), part(frames_.phase_BF));
}

void HibariSound::push(const at::Tensor& noise_FB, std::vector<float>& samples) {
  const int64_t count = noise_FB.size(0);
  PREDGEN_CHECK(count <= frames_left(), "{} frames, but {} are left", count, frames_left());
  if (count == 0) return;
  add(at::fft_irfft(spectrum(next_, noise_FB), kWindow) * window_, samples);
}

void HibariSound::add(const at::Tensor& windows, std::vector<float>& samples) {
  const at::Tensor all = windows.contiguous();
  const float* values = all.const_data_ptr<float>();
  for (int64_t i = 0; i < all.size(0); ++i, values += kWindow) {
    for (size_t j = 0; j < open_.size(); ++j) open_[j] += values[j];
    emit(next_++, samples);
  }
  if (frames_left() > 0) return;
  emit(num_frames(), samples);
  emit(num_frames() + 1, samples);
}

/// Emits the first open block, which is complete, unless it is before the first
/// sample.
void HibariSound::emit(int64_t block, std::vector<float>& samples) {
  const float* const window = window_.const_data_ptr<float>();
  for (int64_t i = 0; i < kHop && block >= kOverlap / 2; ++i) {
    float weight = 0;
    for (int64_t j = 0; j < kOverlap; ++j) {
      const bool is_there = block - j >= 0 && block - j < num_frames();
      const float value = window[j * kHop + i];
      if (is_there) weight += value * value;
    }
    const float sample = open_[static_cast<size_t>(i)] / std::max(weight, 1e-11F);
    samples.push_back(std::clamp(sample, -1.0F, 1.0F));
  }
  open_.erase(open_.begin(), open_.begin() + kHop);
  open_.resize(kWindow);
}

namespace {

constexpr int64_t kBins = 601;
// Few enough for LibTorch to compute on the calling thread.
constexpr int64_t kFramesPerStep = 27;

/// A view that keeps the output's memory.
at::Tensor to_tensor(const OnnxOutput& output) {
  return at::from_blob(
      const_cast<float*>(output.values.data()), output.shape, [owner = output.owner](void*) {},
      at::kFloat);
}

const std::vector<std::string>& output_names() {
  static const std::vector<std::string> names{"lh", "theta", "ln", "lr", "phi", "f0"};
  return names;
}

/// A piece under way. The first step is the network's pass, and the sound of its first frames.
class HibariPiece : public Synthesis {
 public:
  HibariPiece(const HibariNetwork& network, std::vector<int64_t> ids, uint64_t seed)
      : network_(network), ids_(std::move(ids)), generator_(at::detail::createCPUGenerator(seed)) {}

  bool advance(std::vector<float>& samples) override {
    const c10::InferenceMode inference;
    if (!sound_) sound_.emplace(network_.frames(ids_));
    const int64_t count = std::min(kFramesPerStep, sound_->frames_left());
    const at::Tensor noise = at::randn({count, kBins, 2}, generator_, at::kFloat);
    sound_->push(at::view_as_complex(noise), samples);
    return sound_->frames_left() > 0;
  }

 private:
  const HibariNetwork& network_;
  std::vector<int64_t> ids_;
  at::Generator generator_;
  std::optional<HibariSound> sound_;
};

}  // namespace

HibariNetwork::HibariNetwork(std::shared_ptr<const OnnxGraph> graph, HibariAlphabet alphabet,
                             const HibariSettings& settings)
    : graph_(std::move(graph)), alphabet_(std::move(alphabet)), settings_(settings) {
  check_graph(*graph_, {"ids", "speed"}, output_names(), "Hibari");
}

std::shared_ptr<const HibariNetwork> HibariNetwork::load(const std::filesystem::path& folder,
                                                         const HibariSettings& settings) {
  HibariAlphabet alphabet(folder / "vocab.json");
  return std::make_shared<const HibariNetwork>(
      std::make_unique<const OnnxSession>(folder / "hibari.onnx"), std::move(alphabet), settings);
}

std::shared_ptr<const HibariNetwork> HibariNetwork::at_speed(double factor) const {
  HibariSettings settings = settings_;
  settings.speed *= factor;
  return std::make_shared<const HibariNetwork>(graph_, alphabet_, settings);
}

std::unique_ptr<Synthesis> HibariNetwork::speak(const std::string& phonemes) const {
  std::vector<int64_t> ids = alphabet_.ids(hibari_phonemes(phonemes));
  if (ids.empty()) return nullptr;
  return std::make_unique<HibariPiece>(*this, std::move(ids), settings_.seed);
}

HibariFrames HibariNetwork::frames(const std::vector<int64_t>& ids) const {
  const auto speed = static_cast<float>(settings_.speed);
  std::vector<at::Tensor> outputs;
  for (const OnnxOutput& output :
       graph_->run({{.name = "ids", .shape = {1, std::ssize(ids)}, .integers = ids},
                    {.name = "speed", .shape = {1}, .floats = {&speed, 1}}},
                   output_names(), {})) {
    outputs.push_back(to_tensor(output));
  }
  PREDGEN_CHECK(outputs.size() == output_names().size(), "{} outputs", outputs.size());
  const int64_t num_frames = outputs.back().size(-1);
  for (size_t i = 0; i + 1 < outputs.size(); ++i) {
    if (outputs[i].sizes() != at::IntArrayRef({1, kBins, num_frames})) {
      throw Error("Hibari's network gave '{}' in another shape than 1 x {} x {}", output_names()[i],
                  kBins, num_frames);
    }
    outputs[i] = outputs[i][0];
  }
  return {outputs[0], outputs[1], outputs[2], outputs[3], outputs[4], outputs[5].reshape(-1)};
}

Settings settings_of(HibariOptions& options) {
  return {{"model", options.model,
           "folder of hibari.onnx and vocab.json; empty: that of `predgen models get hibari`"},
          {"speed", options.settings.speed, between(kSlowestHibari, kFastestHibari), "of speech"},
          {"seed", options.settings.seed, "of the breath and hiss in the sound"}};
}

std::filesystem::path hibari_folder() { return models_folder() / "hibari"; }

namespace {

std::shared_ptr<const HibariNetwork> load(const HibariOptions& options) {
  OnnxRuntime::open();  // a build without it fails before files are looked for
  const std::filesystem::path folder = options.model.empty() ? hibari_folder() : options.model;
  std::error_code absent;
  if (options.model.empty() && !std::filesystem::is_directory(folder, absent)) {
    throw UserError("the Hibari voice is not in {}: {} fetches it; or use --tts espeak",
                    folder.string(), fetch_command("hibari"));
  }
  return HibariNetwork::load(folder, options.settings);
}

}  // namespace

HibariVoice::HibariVoice(const HibariOptions& options) : HibariVoice(load(options), options) {}

HibariVoice::HibariVoice(std::shared_ptr<const HibariNetwork> network, const HibariOptions& options)
    : options_(options), network_(std::move(network)) {
  try_out(*synthesizer(), "Ready.", "fetch the Hibari voice again");
}

SpeedRange HibariVoice::speeds() const {
  const double configured = network_->settings().speed;
  return {kSlowestHibari / configured, kFastestHibari / configured};
}

std::unique_ptr<SpeechSynthesizer> HibariVoice::synthesizer(const std::string& name,
                                                            double speed) const {
  if (!name.empty() && name != names_.front()) throw unknown_voice(name, names_);
  return std::make_unique<ClauseSynthesizer>(
      speed == 1 ? network_ : network_->at_speed(speed),
      ClauseOptions{.user = "the Hibari voice",
                    .language = language(),
                    .espeak_helper = options_.espeak_helper});
}

}  // namespace predgen
