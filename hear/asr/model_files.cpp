#include "hear/asr/model_files.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace predgen::ears {
namespace {

namespace fs = std::filesystem;

// Metadata of each kind in sherpa-onnx's format.
const std::vector<const char*> kWhisperKeys{
    "n_mels",    "n_audio_layer", "n_text_layer",  "n_text_ctx",      "n_text_state",
    "n_vocab",   "sot",           "eot",           "sot_sequence",    "blank_id",
    "translate", "transcribe",    "no_timestamps", "is_multilingual", "no_speech"};

class OnnxReader {
 public:
  explicit OnnxReader(const fs::path& file) : file_(file), in_(file, std::ios::binary) {
    if (!in_) fail("cannot be read");
    size_ = static_cast<int64_t>(fs::file_size(file));
  }

  /// The fields of the outermost message; all but the metadata are skipped.
  std::map<std::string, std::string> metadata() {
    std::map<std::string, std::string> found;
    bool has_graph = false;
    constexpr uint64_t kVersion = 1, kGraph = 7, kMetadata = 14, kLargestVersion = 100;
    for (bool is_first = true; place_ < size_; is_first = false) {
      const uint64_t tag = number(), field = tag >> 3;
      if (is_first && tag != kVersion << 3) fail("is no ONNX file");
      if ((tag & 7) == 0) {
        const uint64_t value = number();
        if (is_first && (value == 0 || value > kLargestVersion)) fail("is no ONNX file");
        continue;
      }
      if ((tag & 7) != 2) fail("is no ONNX file");
      const uint64_t length = number();
      if (length > static_cast<uint64_t>(size_ - place_)) fail("is cut off: fetch it again");
      has_graph = has_graph || (field == kGraph && length > 0);
      const int64_t end = place_ + static_cast<int64_t>(length);
      if (field == kMetadata) {
        const std::string key = text_in(end);
        found[key] = text_in(end);
      }
      in_.seekg(end);
      place_ = end;
    }
    if (!has_graph) fail("is cut off: fetch it again");
    return found;
  }

 private:
  [[noreturn]] void fail(const char* why) const { throw UserError("{} {}", file_.string(), why); }

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int byte = in_.get();
      if (byte < 0) fail("is cut off: fetch it again");
      ++place_;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail("is no ONNX file");
  }

  /// The next field of a message that ends there: a text.
  std::string text_in(int64_t end) {
    constexpr uint64_t kLongest = 1 << 24;
    if (place_ >= end) return {};
    number();
    const uint64_t length = number();
    if (length > kLongest || place_ + static_cast<int64_t>(length) > end) fail("is no ONNX file");
    std::string text(length, '\0');
    in_.read(text.data(), static_cast<std::streamsize>(length));
    place_ += static_cast<int64_t>(length);
    return text;
  }

  const fs::path file_;
  std::ifstream in_;
  int64_t size_ = 0, place_ = 0;
};

bool holds(const fs::path& file, const std::string& part) {
  return file.filename().string().find(part) != std::string::npos;
}

std::optional<fs::path> find_file(const fs::path& folder, const std::string& part,
                                  const std::string& ending) {
  std::optional<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& file = entry.path();
    if (!entry.is_regular_file() || !holds(file, part) || file.extension() != ending) continue;
    if (!found || (holds(file, "int8") && !holds(*found, "int8")) ||
        (holds(file, "int8") == holds(*found, "int8") && file < *found)) {
      found = file;
    }
  }
  return found;
}

/// An ONNX Runtime file is a FlatBuffer with this name in it.
void check_ort(const fs::path& file) {
  std::string begin(8, '\0');
  std::ifstream(file, std::ios::binary).read(begin.data(), std::ssize(begin));
  if (begin.substr(4) != "ORTM") throw UserError("{} is no ONNX Runtime file", file.string());
}

/// Each line has a token and a number; some models have a token that is a blank.
void check_tokens(const fs::path& file) {
  constexpr size_t kFewest = 10;
  std::ifstream in(file);
  size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const std::string_view text = trimmed(line);
    const size_t blank = text.find_last_of(" \t");
    const std::string_view number = text.substr(blank == std::string_view::npos ? 0 : blank + 1);
    const bool is_number = !number.empty() && number.size() < 9 &&
                           number.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) {
      throw UserError("{} line {}: must be a token and its number", file.string(), count + 1);
    }
  }
  if (count < kFewest) {
    throw UserError("{} has {} tokens only: fetch it again", file.string(), count);
  }
}

}  // namespace

std::map<std::string, std::string> read_onnx_metadata(const fs::path& file) {
  return OnnxReader(file).metadata();
}

fs::path onnx_file_at(const fs::path& place) {
  if (!fs::is_directory(place)) {
    if (!fs::is_regular_file(place)) throw UserError("{}: no such file", place.string());
    return place;
  }
  const auto found = find_file(place, "", ".onnx");
  if (!found) throw UserError("there is no .onnx file in {}", place.string());
  return *found;
}

ModelFiles find_model(const fs::path& folder, const std::string& language) {
  if (!fs::is_directory(folder)) throw UserError("there is no folder {}", folder.string());
  const auto file_of = [&](const char* part, const char* ending) {
    const auto found = find_file(folder, part, ending);
    if (!found) {
      throw UserError(
          "{} has no {} file with '{}' in its name; a recogniser is a folder with encoder, decoder "
          "and tokens.txt of Whisper for sherpa-onnx, or with a joiner, too, of a streaming "
          "transducer, or with encoder and decoder as .ort files and tokenizer.bin of Moonshine",
          folder.string(), ending, part);
    }
    return *found;
  };
  if (find_file(folder, "encoder", ".ort")) {
    ModelFiles files{.kind = ModelFiles::Kind::kMoonshine,
                     .encoder = file_of("encoder", ".ort"),
                     .decoder = file_of("decoder", ".ort"),
                     .tokens = file_of("tokenizer", ".bin")};
    check_ort(files.encoder);
    check_ort(files.decoder);
    return files;
  }
  const fs::path own = folder / ("encoder_" + language + ".onnx");
  ModelFiles files{.encoder = fs::is_regular_file(own) ? own : file_of("encoder", ".onnx"),
                   .decoder = file_of("decoder", ".onnx"),
                   .tokens = file_of("tokens", ".txt")};
  check_tokens(files.tokens);
  files.metadata = read_onnx_metadata(files.encoder);
  read_onnx_metadata(files.decoder);
  if (const auto joiner = find_file(folder, "joiner", ".onnx")) {
    files.kind = ModelFiles::Kind::kTransducer;
    files.joiner = *joiner;
    read_onnx_metadata(files.joiner);
    return files;
  }
  for (const char* const key : kWhisperKeys) {
    if (files.metadata.contains(key)) continue;
    throw UserError("{} lacks '{}' in its metadata: it is no Whisper encoder for sherpa-onnx",
                    files.encoder.string(), key);
  }
  return files;
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) items.push_back(item);
  return items;
}

void check_language(const ModelFiles& whisper, const std::string& language) {
  if (whisper.metadata.at("is_multilingual") == "0") {
    if (language == "en") return;
    throw UserError("{} hears English only, not '{}'", whisper.encoder.string(),
                    shortened(language));
  }
  const auto found = whisper.metadata.find("all_language_codes");
  const std::string codes = found == whisper.metadata.end() ? "" : found->second;
  if (std::ranges::count(split_list(codes), language) > 0) return;
  throw UserError("{} does not know the language '{}'; it knows {}", whisper.encoder.string(),
                  shortened(language), shortened(codes, 200));
}

}  // namespace predgen::ears
