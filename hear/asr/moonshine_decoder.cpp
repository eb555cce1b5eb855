#include "hear/asr/moonshine_decoder.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "text/utf8.h"

namespace predgen::ears {
namespace {

// Both sizes, tiny and base, have 8 heads; the sizes of these follow from the width.
constexpr int64_t kHeads = 8;
constexpr int64_t kBeginToken = 1, kEndToken = 2, kFirstPiece = 3;  // tokens
constexpr double kMostTokensASecond = 6.5;                          // as its authors have it
constexpr int64_t kFewestSamples = kRate / 8;                       // that its convolutions take
constexpr std::string_view kBlank = "\xe2\x96\x81";                 // in pieces

bool is_of_sound(const std::string& input) { return input.find(".encoder.") != std::string::npos; }

/// "present.0.decoder.key" for "past_key_values.0.decoder.key".
std::string output_of(const std::string& input) {
  return "present" + input.substr(input.find('.'));
}

/// Without quotation marks, which cannot be heard: it begins in one now and then.
std::string without_quotes(const std::string& text) {
  std::string spoken;
  for (const char byte : text) {
    const bool is_apostrophe = byte == '\'' && !spoken.empty() &&
                               std::isalnum(static_cast<unsigned char>(spoken.back())) != 0;
    if (is_apostrophe || (byte != '\'' && byte != '"')) spoken += byte;
  }
  return spoken;
}

/// The first `count` rows of [1, kHeads, n, size].
std::vector<float> first_rows(const OnnxOutput& rows, int64_t count) {
  const int64_t size = rows.shape[3], all = rows.shape[2] * size;
  std::vector<float> first;
  first.reserve(static_cast<size_t>(kHeads * count * size));
  for (int64_t head = 0; head < kHeads; ++head) {
    std::copy_n(rows.values.begin() + head * all, count * size, std::back_inserter(first));
  }
  return first;
}

}  // namespace

MoonshineDecoder::MoonshineDecoder(const ModelFiles& files, int num_threads)
    : encoder_(files.encoder, {.threads = num_threads, .spins = true}),
      decoder_(files.decoder, {.threads = num_threads, .spins = true}) {
  const std::string kind = "Moonshine";
  check_graph(encoder_, {"input_values", "attention_mask"}, {"last_hidden_state"}, kind);
  check_graph(decoder_,
              {"input_ids", "encoder_hidden_states", "encoder_attention_mask", "use_cache_branch"},
              {"logits"}, kind);
  for (const std::string& input : decoder_.inputs()) {
    if (input.starts_with("past_key_values.")) past_.push_back(input);
  }
  read_pieces(files.tokens);
}

/// Each piece's length, in one byte or, from 128 on, in two, and its bytes.
void MoonshineDecoder::read_pieces(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (size_t at = 0; at < bytes.size();) {
    const auto byte = [&] {
      return at < bytes.size() ? static_cast<size_t>(static_cast<unsigned char>(bytes[at++])) : 0;
    };
    size_t length = byte();
    if (length >= 128) length += 128 * byte() - 128;
    if (length > bytes.size() - at) {
      throw UserError("{} is cut off: fetch it again", file.string());
    }
    std::string& piece = pieces_.emplace_back(bytes.substr(at, length));
    at += length;
    for (size_t blank; (blank = piece.find(kBlank)) != std::string::npos;) {
      piece.replace(blank, kBlank.size(), " ");
    }
  }
  if (std::ssize(pieces_) <= kFirstPiece) throw UserError("{} has no tokens", file.string());
}

MoonshineDecoder::Tokens MoonshineDecoder::likeliest_next(std::span<const int64_t> tokens,
                                                          int64_t offset, Cache& cache,
                                                          const std::stop_token& stop) const {
  const bool is_first = cache.values.empty();
  const int64_t width = cache.sound.shape.at(2);
  // Of the sound's samples, of which the network takes one in 384: this one stands for all. As many
  // as the encoder has rows would fail from 9.2 s on.
  const std::vector<int64_t> mask{1};
  const bool has_past[] = {!is_first};
  std::vector<OnnxInput> inputs{
      {.name = "input_ids", .shape = {1, std::ssize(tokens)}, .integers = tokens},
      {.name = "encoder_hidden_states", .shape = cache.sound.shape, .floats = cache.sound.values},
      {.name = "encoder_attention_mask", .shape = {1, 1}, .integers = mask},
      {.name = "use_cache_branch", .shape = {1}, .flags = has_past}};
  std::vector<std::vector<float>> kept;  // of tokens before the offset
  kept.reserve(past_.size());
  std::vector<std::string> outputs{"logits"}, given;
  for (const std::string& input : past_) {
    OnnxInput& past = inputs.emplace_back();
    past.name = input;
    if (is_first || !is_of_sound(input)) {
      outputs.push_back(output_of(input));
      given.push_back(input);
    }
    if (is_first) {
      past.shape = {1, kHeads, 0, width / kHeads};
      continue;
    }
    const OnnxOutput& before = cache.values.at(input);
    past.shape = before.shape;
    past.floats = before.values;
    if (is_of_sound(input)) continue;
    past.shape[2] = offset;
    if (before.shape[2] != offset) past.floats = kept.emplace_back(first_rows(before, offset));
  }
  auto made = decoder_.run(inputs, outputs, stop);
  for (size_t i = 0; i < given.size(); ++i) cache.values[given[i]] = std::move(made[i + 1]);
  const std::span<const float> logits = made[0].values;
  const auto num_tokens = std::ssize(pieces_);
  if (std::ssize(logits) != std::ssize(tokens) * num_tokens) {
    throw UserError("{} is the network of other tokens than the {} beside it", decoder_.name(),
                    num_tokens);
  }
  cache.certainties.resize(static_cast<size_t>(offset));
  std::ranges::copy(certainties_of_rows(logits, num_tokens), std::back_inserter(cache.certainties));
  return likeliest_of_rows(logits, num_tokens);
}

/// A piece that begins with a blank begins a word; the end of the text counts as one of the last.
std::vector<double> MoonshineDecoder::certainties_of_words(
    const Tokens& tokens, std::span<const double> certainties) const {
  std::vector<double> words;
  const size_t count = std::min(certainties.size(), tokens.size() + 1);
  for (size_t i = 0; i < count; ++i) {
    const bool is_begin = i < tokens.size() && tokens[i] >= kFirstPiece &&
                          pieces_[static_cast<size_t>(tokens[i])].starts_with(' ');
    if (is_begin || words.empty()) words.push_back(1);
    words.back() = std::min(words.back(), certainties[i]);
  }
  return words;
}

std::string MoonshineDecoder::text_of(const Tokens& tokens) const {
  std::string text;
  for (const int64_t token : tokens) {
    if (token >= kFirstPiece) text += pieces_[static_cast<size_t>(token)];
  }
  return without_quotes(replace_ill_formed_utf8(text));
}

std::optional<Decoded> MoonshineDecoder::decode(const DecodeJob& job, const std::stop_token& stop) {
  SegmentTokens& text = texts_[job.stream];
  text.begin(job.segment);
  std::vector<float> sound = job.sound;
  sound.resize(std::max(sound.size(), static_cast<size_t>(kFewestSamples)));
  const std::vector<int64_t> mask(sound.size(), 1);
  const std::vector<int64_t> shape{1, std::ssize(sound)};
  const double most = kMostTokensASecond * static_cast<double>(sound.size()) / kRate;
  Decoded decoded;
  try {
    auto encoded = encoder_.run({{.name = "input_values", .shape = shape, .floats = sound},
                                 {.name = "attention_mask", .shape = shape, .integers = mask}},
                                {"last_hidden_state"}, stop);
    Cache cache{.sound = std::move(encoded[0])};
    const auto next = [&](std::span<const int64_t> tokens, int64_t offset) {
      return likeliest_next(tokens, offset, cache, stop);
    };
    text.tokens = decode_drafted(next, {kBeginToken}, text.tokens,
                                 {.end = kEndToken, .most = 1 + static_cast<int64_t>(most)});
    decoded.certainties = certainties_of_words(text.tokens, cache.certainties);
  } catch (const Interrupted&) {
    return std::nullopt;
  }
  decoded.text = text_of(text.tokens);
  return decoded;
}

}  // namespace predgen::ears
