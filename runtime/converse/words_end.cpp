#include "runtime/converse/words_end.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"
#include "text/words.h"

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

namespace {

constexpr const char* kMoreWords = " and";  // that differ from the first token on

// Log-odds by the likeliest end, in nats, fitted to spoken requests after each of their words:
// docs/measurements.md, "The end of a turn by its words".
constexpr double kBias = 3.7, kSlope = 1.04;

/// Where two prompts part.
int64_t common_tokens(const TokenIds& a, const TokenIds& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

std::optional<int64_t> words_end(const History::Prompt& prompt, const std::string& words,
                                 const RenderPrompt& render) {
  // The prefix shared with a prompt that has another word ends where the words do.
  const History::Prompt other = render(words + kMoreWords);
  const int64_t end = common_tokens(prompt.ids, other.ids);
  if (other.dropped_rounds != prompt.dropped_rounds || end == 0 || end == std::ssize(prompt.ids)) {
    return std::nullopt;
  }
  return end;
}

EndByWords::EndByWords(const Tokenizer& tokenizer, std::shared_ptr<const EndReadout> readout)
    : readout_(std::move(readout)) {
  const auto said = [&](const std::string& text) {
    return tokenizer.render_chat({{.role = "user", .content = text}});
  };
  const std::string words = "yes";
  const int64_t end = common_tokens(said(words), said(words + kMoreWords));
  TokenIds ends;  // what comes after the words, with a mark or without
  for (const char* mark : {"", ".", "?", "!"}) {
    const TokenIds whole = said(words + mark);
    const bool is_behind = common_tokens(whole, said(words + kMoreWords)) == end;
    if (is_behind && end < std::ssize(whole)) ends.push_back(whole[static_cast<size_t>(end)]);
  }
  ends_ = at::tensor(ends, at::kLong);
}

std::string EndByWords::without_marks(const std::string& words) {
  return std::string(without_end_marks(words));
}

double EndByWords::probability(const at::Tensor& logits_V) const {
  if (readout_) return readout_->probability(logits_V);
  const at::Tensor logprobs_V = logits_V.to(at::kDouble).log_softmax(0);
  const double likeliest =
      logprobs_V.index_select(0, ends_.to(logits_V.device())).max().item<double>();
  return 1 / (1 + std::exp(-(kBias + kSlope * likeliest)));
}

}  // namespace predgen
