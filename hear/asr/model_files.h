#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace predgen::ears {

/// A recogniser's files, checked before sherpa-onnx loads them: it ends the program if they are not
/// as it expects, and says so only in a log.
struct ModelFiles {
  enum class Kind { kWhisper, kTransducer, kMoonshine };
  Kind kind = Kind::kWhisper;
  std::filesystem::path encoder, decoder, tokens;
  std::filesystem::path joiner{};                 // a transducer's
  std::map<std::string, std::string> metadata{};  // the encoder's
};

/// Those of a folder with tokens.txt and .onnx files with "encoder", "decoder" and, for a streaming
/// transducer, "joiner" in their names; if there are several, the int8 one, but for English the
/// encoder encoder_en.onnx, and likewise for other languages. Moonshine's are .ort files and
/// tokenizer.bin. UserError for what is missing, truncated or of another kind.
ModelFiles find_model(const std::filesystem::path& folder, const std::string& language);

/// The metadata of an ONNX file. UserError if it is not one, or truncated.
std::map<std::string, std::string> read_onnx_metadata(const std::filesystem::path& file);

/// `place`, or the only .onnx file in the folder `place`. UserError if there is none.
std::filesystem::path onnx_file_at(const std::filesystem::path& place);

/// The items of a list in the metadata: "en,de".
std::vector<std::string> split_list(const std::string& list);

/// UserError listing the available languages if the Whisper model does not know this one.
void check_language(const ModelFiles& whisper, const std::string& language);

}  // namespace predgen::ears
