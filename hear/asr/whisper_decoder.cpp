#include "hear/asr/whisper_decoder.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "core/base64.h"
#include "core/error.h"
#include "core/text.h"
#include "text/utf8.h"

namespace predgen::ears {
namespace {

// Whisper was trained on windows of 30 s; with too little padding after the sound it drops words,
// or repeats them. With 8 s in all it makes as few errors as with 13 s (4.1 % of 291 words), and
// takes 30 % less time; with 6 s it makes twice as many. An encoder that was trained for shorter
// windows says how much padding it needs; there are few sizes of windows, because a plan is kept
// for each. In frames of 10 ms.
constexpr int64_t kFrames = 800, kLeastTail = 300, kMostFrames = 3000, kStep = 20;
constexpr double kTokensASecond = 6;  // at most, as in sherpa-onnx: nobody speaks faster

const std::string& entry_of(const ModelFiles& files, const char* key) {
  const auto found = files.metadata.find(key);
  if (found != files.metadata.end()) return found->second;
  throw UserError("{} lacks '{}' in its metadata", files.encoder.string(), key);
}

std::vector<int64_t> numbers_of(const ModelFiles& files, const char* key) {
  constexpr int64_t kLargest = 10'000'000;
  std::vector<int64_t> numbers;
  for (const std::string& item : split_list(entry_of(files, key))) {
    int64_t& number = numbers.emplace_back();
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (error != std::errc() || end != item.data() + item.size() || number < 0 ||
        number > kLargest) {
      throw UserError("{}: '{}' in its metadata has '{}', which is no number of it",
                      files.encoder.string(), key, shortened(item));
    }
  }
  return numbers;
}

/// At least 1.
int64_t number_of(const ModelFiles& files, const char* key) {
  const std::vector<int64_t> numbers = numbers_of(files, key);
  if (numbers.size() == 1 && numbers[0] > 0) return numbers[0];
  throw UserError("{}: '{}' in its metadata is '{}', not one number from 1 on",
                  files.encoder.string(), key, shortened(entry_of(files, key)));
}

/// Somebody waits for a decode, so its threads do not sleep within it.
OnnxSessionOptions session_options(int num_threads) {
  return {.threads = num_threads, .spins = true, .keeps_plans = true};
}

/// The start token, language and task if there are several, and "no timestamps".
std::vector<int64_t> prompt_of(const ModelFiles& files, const std::string& language) {
  std::vector<int64_t> prompt = numbers_of(files, "sot_sequence");
  if (entry_of(files, "is_multilingual") != "0") {
    const std::vector<std::string> codes = split_list(entry_of(files, "all_language_codes"));
    const std::vector<int64_t> tokens = numbers_of(files, "all_language_tokens");
    const auto place = static_cast<size_t>(std::ranges::find(codes, language) - codes.begin());
    if (prompt.size() < 2 || place >= tokens.size()) {
      throw UserError("{} has no token for the language '{}' in its metadata",
                      files.encoder.string(), language);
    }
    prompt[1] = tokens[place];
  }
  prompt.push_back(number_of(files, "no_timestamps"));
  return prompt;
}

}  // namespace

WhisperDecoder::WhisperDecoder(const ModelFiles& files, const std::string& language,
                               int num_threads)
    : encoder_(files.encoder, session_options(num_threads)),
      decoder_(files.decoder, session_options(num_threads)),
      num_layers_(number_of(files, "n_text_layer")),
      width_(number_of(files, "n_text_state")),
      context_(number_of(files, "n_text_ctx")),
      num_tokens_(number_of(files, "n_vocab")),
      end_(number_of(files, "eot")),
      silence_(files.metadata.contains("silence_frames") ? number_of(files, "silence_frames") : 0),
      log_mel_(number_of(files, "n_mels")),
      prompt_(prompt_of(files, language)),
      no_past_(static_cast<size_t>(width_of_layers() * context_)) {
  read_tokens(files.tokens);
}

/// A line has a token's bytes in base64, possibly none, and its number: check_tokens().
void WhisperDecoder::read_tokens(const std::filesystem::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::string_view entry = trimmed(line);
    const size_t place = entry.find_last_of(" \t") + 1;  // 0: there is the number alone
    const auto bytes = from_base64(trimmed(entry.substr(0, place)));
    if (!bytes) throw UserError("{}: '{}' is no token in base64", file.string(), shortened(line));
    token_texts_.add(std::stoll(std::string(entry.substr(place))), *bytes);
  }
}

void WhisperDecoder::draft(const DecodeJob& job, const std::string& text) {
  const std::string spoken = text.empty() || text.starts_with(' ') ? text : ' ' + text;
  texts_[job.stream] = {.segment = job.segment, .tokens = token_texts_.tokens_of(spoken)};
}

int64_t WhisperDecoder::padded(int64_t num_frames) const {
  const int64_t frames = silence_ == 0 ? std::max(kFrames, num_frames + kLeastTail)
                                       : (num_frames + silence_ + kStep - 1) / kStep * kStep;
  return std::min(frames, kMostFrames);
}

WhisperDecoder::Cache WhisperDecoder::encode(std::span<const float> sound,
                                             const std::stop_token& stop) {
  const std::vector<double> samples(sound.begin(), sound.end());
  const std::vector<float> picture = log_mel_(samples);
  const int64_t bands = log_mel_.num_bands(), num_frames = std::ssize(picture) / bands;
  const int64_t size = padded(num_frames);
  std::vector<float> mel(static_cast<size_t>(bands * size));
  for (int64_t band = 0; band < bands; ++band) {
    std::copy_n(picture.begin() + band * num_frames, std::min(num_frames, size),
                mel.begin() + band * size);
  }
  auto outputs = encoder_.run({{.name = "mel", .shape = {1, bands, size}, .floats = mel}},
                              {"n_layer_cross_k", "n_layer_cross_v"}, stop);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

WhisperDecoder::Tokens WhisperDecoder::likeliest_next(std::span<const int64_t> tokens,
                                                      int64_t offset, const Cache& sound,
                                                      Cache& past, const std::stop_token& stop) {
  const auto shape_of = [&](std::span<const float> cache) -> std::vector<int64_t> {
    return {num_layers_, 1, std::ssize(cache) / width_of_layers(), width_};
  };
  const std::span<const float> keys = offset == 0 ? no_past_ : past.keys.values;
  const std::span<const float> values = offset == 0 ? no_past_ : past.values.values;
  const int64_t count = std::ssize(tokens);
  auto outputs = decoder_.run(
      {{.name = "tokens", .shape = {1, count}, .integers = tokens},
       {.name = "in_n_layer_self_k_cache", .shape = shape_of(keys), .floats = keys},
       {.name = "in_n_layer_self_v_cache", .shape = shape_of(values), .floats = values},
       {.name = "n_layer_cross_k",
        .shape = shape_of(sound.keys.values),
        .floats = sound.keys.values},
       {.name = "n_layer_cross_v",
        .shape = shape_of(sound.values.values),
        .floats = sound.values.values},
       {.name = "offset", .shape = {1}, .integers = {&offset, 1}}},
      {"logits", "out_n_layer_self_k_cache", "out_n_layer_self_v_cache"}, stop);
  const std::span<const float> logits = outputs[0].values;
  if (std::ssize(logits) != count * num_tokens_) {
    throw Error(
        "its decoder gives the logits of its last token alone; fetch it again "
        "(predgen models get)");
  }
  past = {std::move(outputs[1]), std::move(outputs[2])};
  return likeliest_of_rows(logits, num_tokens_);
}

std::optional<Decoded> WhisperDecoder::decode(const DecodeJob& job, const std::stop_token& stop) {
  SegmentTokens& text = texts_[job.stream];
  text.begin(job.segment);
  const double most = kTokensASecond * static_cast<double>(job.sound.size()) / kRate;
  try {
    const Cache sound = encode(job.sound, stop);
    Cache past;
    const auto next = [&](std::span<const int64_t> tokens, int64_t offset) {
      return likeliest_next(tokens, offset, sound, past, stop);
    };
    const std::string drafted = token_texts_.bytes_of(text.tokens);
    const auto rest = [&](std::span<const int64_t> said) {
      const size_t place = draft_place(drafted, token_texts_.bytes_of(said));
      return token_texts_.tokens_of(std::string_view(drafted).substr(place));
    };
    text.tokens = decode_drafted(
        next, prompt_, text.tokens,
        {.end = end_, .most = std::min(static_cast<int64_t>(most), context_ / 2)}, rest);
  } catch (const Interrupted&) {
    return std::nullopt;
  }
  return Decoded{.text = replace_ill_formed_utf8(token_texts_.bytes_of(text.tokens))};
}

}  // namespace predgen::ears
