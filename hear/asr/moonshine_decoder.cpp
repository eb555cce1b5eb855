#include "hear/asr/moonshine_decoder.h"

#include <algorithm>
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
  const int64_t length = cache.sound.shape.at(1), width = cache.sound.shape.at(2);
  const std::vector<int64_t> mask(static_cast<size_t>(length), 1);
  const bool has_past[] = {!is_first};
  std::vector<OnnxInput> inputs{
      {.name = "input_ids", .shape = {1, std::ssize(tokens)}, .integers = tokens},
      {.name = "encoder_hidden_states", .shape = cache.sound.shape, .floats = cache.sound.values},
      {.name = "encoder_attention_mask", .shape = {1, length}, .integers = mask},
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
  return likeliest_of_rows(logits, num_tokens);
}

std::string MoonshineDecoder::text_of(const Tokens& tokens) const {
  std::string text;
  for (const int64_t token : tokens) {
    if (token >= kFirstPiece) text += pieces_[static_cast<size_t>(token)];
  }
  return replace_ill_formed_utf8(text);
}

std::optional<Decoded> MoonshineDecoder::decode(const DecodeJob& job, const std::stop_token& stop) {
  SegmentTokens& text = texts_[job.stream];
  text.begin(job.segment);
  std::vector<float> sound = job.sound;
  sound.resize(std::max(sound.size(), static_cast<size_t>(kFewestSamples)));
  const std::vector<int64_t> mask(sound.size(), 1);
  const std::vector<int64_t> shape{1, std::ssize(sound)};
  const double most = kMostTokensASecond * static_cast<double>(sound.size()) / kRate;
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
  } catch (const Interrupted&) {
    return std::nullopt;
  }
  return Decoded{.text = text_of(text.tokens)};
}

}  // namespace predgen::ears
