#include "hear/asr/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::ears {
namespace {

using testing::HasSubstr;

std::string number(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string field(uint64_t number_of, const std::string& content) {
  return number(number_of << 3 | 2) + number(content.size()) + content;
}

/// As an ONNX file begins, with a graph of nothing.
std::string onnx(const std::map<std::string, std::string>& metadata) {
  std::string bytes = "\x08\x09" + field(7, std::string(300, 'g'));
  for (const auto& [key, value] : metadata) bytes += field(14, field(1, key) + field(2, value));
  return bytes;
}

std::map<std::string, std::string> of_whisper() {
  std::map<std::string, std::string> metadata;
  for (const char* const key : {"n_mels", "n_audio_layer", "n_text_layer", "n_text_ctx",
                                "n_text_state", "n_vocab", "sot", "eot", "sot_sequence", "blank_id",
                                "translate", "transcribe", "no_timestamps", "no_speech"}) {
    metadata[key] = "80";
  }
  metadata["is_multilingual"] = "1";
  metadata["all_language_codes"] = "en,de,fr";
  return metadata;
}

struct ModelFilesTest : testing::Test {
  ModelFilesTest() {
    std::string tokens;
    for (int i = 0; i < 20; ++i) tokens += "dG9rZW4= " + std::to_string(i) + "\n";
    write("tokens.txt", tokens);
    write("encoder.onnx", onnx(of_whisper()));
    write("decoder.onnx", onnx({}));
  }
  void write(const std::string& name, const std::string& content) {
    write_file(folder.path() / name, content);
  }
  void expect_error(const std::string& part) {
    EXPECT_THAT(
        [&] { find_model(folder.path(), "en"); },
        testing::ThrowsMessage<UserError>(testing::AllOf(
            HasSubstr(part), testing::SizeIs(testing::Lt(500u)), testing::Not(HasSubstr("\n")))));
  }
  TemporaryFolder folder;
};

TEST_F(ModelFilesTest, AFolderOfWhisperIsKnownByItsMetadata) {
  const ModelFiles files = find_model(folder.path(), "en");
  EXPECT_EQ(files.kind, ModelFiles::Kind::kWhisper);
  EXPECT_EQ(files.metadata.at("all_language_codes"), "en,de,fr");
  EXPECT_EQ(files.tokens, folder.path() / "tokens.txt");
}

TEST_F(ModelFilesTest, SmallerFilesAreTakenBeforeLargerOnes) {
  write("base-encoder.int8.onnx", onnx(of_whisper()));
  EXPECT_EQ(find_model(folder.path(), "en").encoder, folder.path() / "base-encoder.int8.onnx");
}

TEST_F(ModelFilesTest, ALanguageMayHaveItsOwnEncoder) {
  std::map<std::string, std::string> metadata = of_whisper();
  metadata["silence_frames"] = "60";
  write("encoder_en.onnx", onnx(metadata));
  EXPECT_EQ(find_model(folder.path(), "en").encoder, folder.path() / "encoder_en.onnx");
  EXPECT_TRUE(find_model(folder.path(), "en").metadata.contains("silence_frames"));
  EXPECT_EQ(find_model(folder.path(), "de").encoder, folder.path() / "encoder.onnx");
  write("encoder_en.onnx", "GGUF");
  expect_error("encoder_en.onnx is no ONNX file");
}

TEST_F(ModelFilesTest, AJoinerMakesItATransducer) {
  write("joiner.onnx", onnx({}));
  write("encoder.onnx", onnx({{"model_type", "zipformer2"}}));
  const ModelFiles files = find_model(folder.path(), "en");
  EXPECT_EQ(files.kind, ModelFiles::Kind::kTransducer);
  EXPECT_EQ(files.joiner, folder.path() / "joiner.onnx");
}

TEST_F(ModelFilesTest, WhatIsMissingIsNamed) {
  EXPECT_THROW(find_model("/no/folder", "en"), UserError);
  std::filesystem::remove(folder.path() / "decoder.onnx");
  expect_error("'decoder'");
  write("decoder.onnx", onnx({}));
  std::map<std::string, std::string> metadata = of_whisper();
  metadata.erase("n_text_ctx");
  write("encoder.onnx", onnx(metadata));
  expect_error("'n_text_ctx'");
}

TEST_F(ModelFilesTest, AFileThatIsCutOffIsFetchedAgain) {
  const std::string whole = onnx(of_whisper());
  // But where the cut is between two fields of the metadata, the file lacks only those.
  for (size_t size = 0; size < whole.size(); size += 7) {
    write("decoder.onnx", whole.substr(0, size));
    if (size < 310) expect_error("decoder.onnx is");
  }
  write("decoder.onnx", whole.substr(0, whole.size() - 1));
  expect_error("cut off");
  write("decoder.onnx", "GGUF" + whole);
  expect_error("is no ONNX file");
  write("decoder.onnx", std::string(1000, '\xff'));
  expect_error("is no ONNX file");
  write("decoder.onnx", "\x08\x09" + number(7 << 3 | 2) + number(~uint64_t{0} >> 1) + "x");
  expect_error("cut off");
}

TEST_F(ModelFilesTest, MoonshineIsTwoOrtFilesAndItsTokens) {
  const std::string network = std::string(4, '\0') + "ORTM" + std::string(100, 'x');
  write("encoder_model.ort", network);
  expect_error("has no .ort file with 'decoder'");
  write("decoder_model_merged.ort", network);
  expect_error("has no .bin file with 'tokenizer'");
  write("tokenizer.bin",
        "\x01"
        "a");
  EXPECT_EQ(find_model(folder.path(), "en").kind, ModelFiles::Kind::kMoonshine);
  write("encoder_model.ort", "<html>");
  expect_error("is no ONNX Runtime file");
}

TEST_F(ModelFilesTest, TokensAreTokensAndNumbers) {
  write("tokens.txt", "one 1\ntwo\n");
  expect_error("tokens.txt line 2");
  write("tokens.txt", "one 1\n");
  expect_error("has 1 tokens only");
  write("tokens.txt", "");
  expect_error("has 0 tokens only");
}

TEST_F(ModelFilesTest, ALanguageIsOneThatTheModelKnows) {
  const ModelFiles files = find_model(folder.path(), "en");
  check_language(files, "de");
  EXPECT_THAT([&] { check_language(files, "tlh"); },
              testing::ThrowsMessage<UserError>(HasSubstr("en,de,fr")));
  std::map<std::string, std::string> metadata = of_whisper();
  metadata["is_multilingual"] = "0";
  write("encoder.onnx", onnx(metadata));
  check_language(find_model(folder.path(), "en"), "en");
  EXPECT_THROW(check_language(find_model(folder.path(), "en"), "de"), UserError);
}

TEST_F(ModelFilesTest, AnOnnxFileIsNamedByItselfOrItsFolder) {
  TemporaryFolder other;
  EXPECT_THROW(onnx_file_at(other.path()), UserError);
  EXPECT_THROW(onnx_file_at(other.path() / "none.onnx"), UserError);
  write_file(other.path() / "silero.onnx", onnx({}));
  EXPECT_EQ(onnx_file_at(other.path()), other.path() / "silero.onnx");
  EXPECT_EQ(onnx_file_at(other.path() / "silero.onnx"), other.path() / "silero.onnx");
}

}  // namespace
}  // namespace predgen::ears
