#include "checkpoint/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "checkpoint/gguf_checkpoint.h"
#include "core/files.h"
#include "tensors/gguf_file.h"
#include "tensors/gguf_writer.h"
#include "tests/checkpoint/gguf_tokenizer_fields.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/tokenizer_folder.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

using Bytes = GgufByteLevelFields;
using Pieces = GgufPieceFields;

template <typename Fields>
std::unique_ptr<Tokenizer> load(Fields& fields) {
  return load_tokenizer(read_gguf_tokenizer(fields.metadata()));
}

template <typename Fields>
void expect_refused(Fields fields, const std::vector<std::string>& parts) {
  std::vector<std::string> all = parts;
  all.push_back("m.gguf");
  expect_user_error([&] { load(fields); }, all);
}

TEST(GgufTokenizer, MergesBytes) {
  Bytes fields;
  const auto tokenizer = load(fields);
  EXPECT_EQ(tokenizer->encode("hello"), (TokenIds{Bytes::kHell, 'o'}));
  EXPECT_EQ(tokenizer->encode("\xC3\xA9!"), (TokenIds{Bytes::kEAcute, '!'}));
  EXPECT_EQ(tokenizer->decode(TokenIds{Bytes::kStart, Bytes::kHell, Bytes::kTool, 'o'}),
            "hell<tool>o");
  EXPECT_EQ(tokenizer->vocab_size(), Bytes::kPad + 1);
}

TEST(GgufTokenizer, ControlTokensAreNotTyped) {
  Bytes fields;
  const auto tokenizer = load(fields);
  for (const char* typed : {"<|im_end|>", "<tool>"}) {
    for (const TokenId id : tokenizer->encode(typed)) EXPECT_LT(id, Bytes::kEndOfText) << typed;
    EXPECT_EQ(tokenizer->encode_special(typed).size(), 1u) << typed;
  }
  EXPECT_EQ(tokenizer->encode("mark"), TokenIds{Bytes::kMark});  // user-defined, an ordinary word
  EXPECT_EQ(tokenizer->decode(TokenIds{Bytes::kPad}), "[PAD269]");  // no answer may end by it
  EXPECT_GT(tokenizer->encode("[PAD269]").size(), 1u);
}

TEST(GgufTokenizer, EveryFamilyCutsWordsItsOwnWay) {
  const TokenIds one_by_one{'1', '2', '3', '4'}, by_three{Bytes::k123, '4'}, whole{Bytes::k1234};
  const TokenIds composed{Bytes::kEAcute}, decomposed{'e', 0xCC, 0x81};
  struct Case {
    const char* name;
    TokenIds digits, accent;
    bool takes_whole_words, adds_begin;
  };
  for (const Case& each : {
           Case{"default", by_three, decomposed, false, false},
           Case{"llama-bpe", by_three, decomposed, true, true},
           Case{"llama-v3", by_three, decomposed, true, true},
           Case{"llama3", by_three, decomposed, true, true},
           Case{"smollm", one_by_one, decomposed, false, false},
           Case{"gpt-2", whole, decomposed, false, false},
           Case{"qwen2", one_by_one, composed, false, false},
           Case{"deepseek-r1-qwen", one_by_one, composed, false, false},
           Case{"olmo", whole, composed, false, false},
           Case{"dbrx", by_three, decomposed, false, false},
           Case{"smaug-bpe", by_three, decomposed, false, false},
           Case{"tekken", one_by_one, decomposed, true, true},
           Case{"llama4", by_three, decomposed, true, false},
           Case{"gpt-4o", by_three, decomposed, false, false},
       }) {
    Bytes fields;
    fields.set("pre", each.name);
    fields.set_id("bos_token_id", Bytes::kStart);
    const auto tokenizer = load(fields);
    EXPECT_EQ(tokenizer->encode("1234"), each.digits) << each.name;
    EXPECT_EQ(tokenizer->encode("e\u0301"), each.accent) << each.name;
    EXPECT_EQ(tokenizer->encode(" hello").size(), each.takes_whole_words ? 1u : 3u) << each.name;
    EXPECT_EQ(tokenizer->text_frame().before.size(), each.adds_begin ? 1u : 0u) << each.name;
  }
}

TEST(GgufTokenizer, FramesTextAsTheFileAsks) {
  Bytes fields;
  fields.set_id("bos_token_id", Bytes::kEndOfText);
  EXPECT_TRUE(load(fields)->text_frame().before.empty());
  fields.set("add_bos_token", true);
  fields.set("add_eos_token", true);
  EXPECT_EQ(load(fields)->text_frame().before, TokenIds{Bytes::kEndOfText});
  EXPECT_EQ(load(fields)->text_frame().after, TokenIds{Bytes::kEnd});
  fields.set("pre", "llama-bpe");
  fields.set("add_bos_token", false);
  EXPECT_TRUE(load(fields)->text_frame().before.empty());
}

TEST(GgufTokenizer, AnswersEndAtWhatTheFileNamesAndAtKnownMarks) {
  Bytes fields;
  EXPECT_EQ(load(fields)->stop_tokens(), (TokenIds{Bytes::kEnd, Bytes::kEndOfText}));
  EXPECT_EQ(gguf_stop_tokens(fields.metadata()), (TokenIds{Bytes::kEnd, Bytes::kEndOfText}));
  fields.set_id("eot_token_id", Bytes::kStart);
  fields.set_id("eom_token_id", Bytes::kTool);
  const TokenIds named{Bytes::kEnd, Bytes::kStart, Bytes::kTool, Bytes::kEndOfText};
  EXPECT_EQ(load(fields)->stop_tokens(), named);
  fields.tokens[Bytes::kEndOfText] = "</s>";
  fields.types[Bytes::kEndOfText] = 4;  // as Gemma's, a mark of crossed-out text
  EXPECT_EQ(load(fields)->stop_tokens().size(), 3u);
  fields.erase("model");
  EXPECT_FALSE(has_gguf_tokenizer(fields.metadata()));
  EXPECT_TRUE(gguf_stop_tokens(fields.metadata()).empty());
}

TEST(GgufTokenizer, RunsTheTemplateOfTheFileOrAGivenOne) {
  Bytes fields;
  expect_user_error(
      [&] {
        load(fields)->render_chat({{"user", "hi"}});
      },
      {"m.gguf: no tokenizer.chat_template", "--chat-template"});
  fields.set("tokenizer.chat_template", kChatMl);
  const TokenIds ids = load(fields)->render_chat({{"user", "he<|im_end|>"}});
  EXPECT_EQ(ids.front(), Bytes::kStart);
  EXPECT_EQ(std::ranges::count(ids, Bytes::kEnd), 1);

  const TemporaryFolder folder;
  write_file(folder / "mine.jinja", "{{ messages[0]['content'] }}");
  TokenizerFiles files = read_gguf_tokenizer(fields.metadata());
  const std::string hash = files.hash;
  files.give_template(folder / "mine.jinja");
  EXPECT_NE(files.hash, hash);
  EXPECT_EQ(load_tokenizer(files)->render_chat({{"user", "he"}}, false), TokenIds{Bytes::kHe});
  write_file(folder / "broken.jinja", "{% if %}");
  files.give_template(folder / "broken.jinja");
  expect_user_error([&] { load_tokenizer(files); }, {"broken.jinja"});
}

TEST(GgufTokenizer, ATemplateForToolsIsUsedWhereSomeAreOffered) {
  Bytes fields;
  fields.set("tokenizer.chat_template", kChatMl);
  const std::string hash = read_gguf_tokenizer(fields.metadata()).hash;
  const ToolSet tools{.json = R"([{"type": "function", "function": {"name": "he"}}])",
                      .names = {"he"}};
  fields.set("tokenizer.chat_template.tool_use", "{{ tools[0].function.name }}");
  const auto both = load(fields);
  EXPECT_EQ(both->render_chat({{"user", "ll"}}, false, tools), TokenIds{Bytes::kHe});
  EXPECT_EQ(both->render_chat({{"user", "ll"}}, false).front(), Bytes::kStart);
  EXPECT_NE(both->content_hash(), hash);

  // What it writes is a mark, too.
  Bytes marked = fields;
  marked.tokens[Bytes::kTool] = "<|turn>";
  marked.types[Bytes::kTool] = 1;
  marked.set("tokenizer.chat_template.tool_use", "{{ '<|turn>' + tools[0].function.name }}");
  EXPECT_EQ(load(marked)->render_chat({{"user", "ll"}}, false, tools).front(), Bytes::kTool);

  fields.erase("tokenizer.chat_template");  // alone it is for all, as in llama.cpp
  fields.set("tokenizer.chat_template.tool_use", "{{ messages[-1].content }}");
  EXPECT_EQ(load(fields)->render_chat({{"user", "he"}}, false), TokenIds{Bytes::kHe});
  EXPECT_EQ(load(fields)->render_chat({{"user", "he"}}, false, tools).back(), Bytes::kHe);
  fields.set("tokenizer.chat_template.tool_use", "\xFF");
  expect_refused(fields, {"tokenizer.chat_template.tool_use", "UTF-8"});
}

TEST(GgufTokenizer, BothTemplatesReachAnotherFileAndAFolder) {
  Bytes fields;
  fields.set("tokenizer.chat_template", kChatMl);
  fields.set("tokenizer.chat_template.tool_use", "{{ tools }}");
  GgufContents contents;
  add_gguf_tokenizer(read_gguf_tokenizer(fields.metadata()), Bytes::kPad + 1, contents);
  const TemporaryFolder folder;
  contents.write(folder / "m.gguf",
                 [](const std::string&, int64_t, int64_t) { return at::Tensor(); });
  const GgufMetadata metadata = read_gguf_metadata(folder / "m.gguf");
  EXPECT_EQ(metadata.get<std::string>("tokenizer.chat_template"), kChatMl);
  EXPECT_EQ(metadata.get<std::string>("tokenizer.chat_template.tool_use"), "{{ tools }}");
  EXPECT_EQ(metadata.get<std::vector<std::string>>("tokenizer.chat_templates"),
            std::vector<std::string>{"tool_use"});

  GgufCheckpoint(folder / "m.gguf").copy_files(CopiedFiles::kTokenizer, folder.path());
  const TokenizerFiles copied = TokenizerFiles::read(folder.path());
  EXPECT_EQ(copied.chat_template, kChatMl);
  ASSERT_TRUE(copied.tool_template.has_value());
  EXPECT_EQ(copied.tool_template->jinja, "{{ tools }}");
}

TEST(GgufTokenizer, OrdinaryWordsThatAreNamedStayWords) {
  Bytes fields;
  for (const char* key : {"padding_token_id", "unknown_token_id", "bos_token_id"}) {
    fields.set_id(key, '!');
  }
  const auto tokenizer = load(fields);
  EXPECT_EQ(tokenizer->encode("!"), TokenIds{'!'});
  EXPECT_EQ(tokenizer->decode(TokenIds{'!'}), "!");
  fields.set_id("padding_token_id", std::numeric_limits<uint32_t>::max());  // none
  load(fields);
  fields.erase("token_type");  // then only the ends of texts are special
  load(fields);
}

TEST(GgufTokenizer, ByteThatTheVocabularyLacksIsDropped) {
  Bytes fields;
  fields.tokens['x'] = "unused";
  EXPECT_EQ(load(fields)->encode("hxe"), TokenIds{Bytes::kHe});
}

TEST(GgufTokenizer, HashIsThatOfAllThatDecides) {
  Bytes fields;
  const std::string hash = read_gguf_tokenizer(fields.metadata()).hash;
  EXPECT_EQ(read_gguf_tokenizer(fields.metadata("other.gguf")).hash, hash);
  const auto expect_other = [&](Bytes changed) {
    EXPECT_NE(read_gguf_tokenizer(changed.metadata()).hash, hash);
  };
  std::swap(fields.merges[0], fields.merges[1]);
  expect_other(fields);
  std::swap(fields.merges[0], fields.merges[1]);
  std::swap(fields.tokens['a'], fields.tokens['b']);
  expect_other(fields);
  std::swap(fields.tokens['a'], fields.tokens['b']);
  fields.set("pre", "qwen2");
  expect_other(fields);
  fields.set("pre", "gpt-2");
  fields.set("tokenizer.chat_template", "x");
  expect_other(fields);
}

TEST(GgufTokenizer, RefusesWhatItDoesNotKnow) {
  for (const char* model : {"bert", "t5", "plamo2", "two\nlines"}) {
    Bytes fields;
    fields.set("model", model);
    expect_refused(fields, {"tokenizer.ggml.model", "gpt2, llama"});
  }
  Bytes fields;
  fields.set("pre", "falcon");
  expect_refused(fields, {"tokenizer.ggml.pre", "\"falcon\"", "default, llama-bpe", "gpt-4o"});
  fields.erase("pre");
  expect_refused(fields, {"tokenizer.ggml.pre is missing", "convert"});
}

/// Whatever type a file gives them, and whether a known family has them or the template writes
/// them.
TEST(GgufTokenizer, MarksOfTurnsAreControlTokens) {
  Bytes plain;
  plain.set("tokenizer.chat_template", kChatMl);
  const std::vector<Message> messages{{"user", "he<|im_end|>"}};
  const TokenIds expected = load(plain)->render_chat(messages);
  const TokenIds typed = load(plain)->encode("<|im_start|>");
  for (const int32_t type : {1, 4}) {
    Bytes fields = plain;
    for (const int64_t mark : {Bytes::kStart, Bytes::kEnd}) {
      fields.types[static_cast<size_t>(mark)] = type;
    }
    EXPECT_EQ(load(fields)->render_chat(messages), expected) << type;
    EXPECT_EQ(load(fields)->encode("<|im_start|>"), typed) << type;
    EXPECT_EQ(load(fields)->stop_tokens(), load(plain)->stop_tokens()) << type;
    EXPECT_EQ(gguf_stop_tokens(fields.metadata()), load(plain)->stop_tokens()) << type;
  }
  Bytes other = plain;
  other.tokens[Bytes::kStart] = "<|turn>";
  other.types[Bytes::kStart] = 1;
  EXPECT_EQ(load(other)->encode_special("<|turn>").size(), 7u);  // nothing says that it is one
  other.set("tokenizer.chat_template", "{{ '<|turn>' + messages[0]['content'] }}");
  EXPECT_EQ(load(other)->render_chat(messages, false).front(), Bytes::kStart);

  Pieces pieces;
  pieces.tokens[Pieces::kTurn] = "<start_of_turn>";
  pieces.set("tokenizer.chat_template", "{{ '<start_of_turn>' + messages[0]['content'] }}");
  const TokenIds of_pieces = load(pieces)->render_chat({{"user", "hi"}}, false);
  EXPECT_EQ(of_pieces.front(), Pieces::kTurn);
  for (const int32_t type : {1, 4}) {
    pieces.types[Pieces::kTurn] = type;
    EXPECT_EQ(load(pieces)->render_chat({{"user", "hi"}}, false), of_pieces) << type;
  }
}

TEST(GgufTokenizer, ATokenThatIsThereTwiceMeansTheFirstOrTheControlToken) {
  Bytes fields;
  fields.tokens[Bytes::kMark] = "12";
  EXPECT_EQ(load(fields)->encode("12"), TokenIds{Bytes::k12});
  EXPECT_EQ(load(fields)->decode(TokenIds{Bytes::k12}), "12");
  fields.tokens[Bytes::kTool] = "<|im_end|>";
  fields.types[Bytes::kTool] = 1;
  EXPECT_EQ(load(fields)->encode_special("<|im_end|>"), TokenIds{Bytes::kEnd});
}

TEST(GgufTokenizer, RefusesBadVocabularies) {
  const auto refused = [](const auto& spoil, const std::vector<std::string>& parts) {
    Bytes fields;
    spoil(fields);
    expect_refused(fields, parts);
  };
  refused([](Bytes& f) { f.tokens[7] = "a\xFF"; }, {"tokenizer.ggml.tokens[7]", "UTF-8"});
  refused([](Bytes& f) { f.tokens.clear(), f.types.clear(); }, {"tokenizer.ggml.tokens", "empty"});
  refused([](Bytes& f) { f.types.push_back(1); }, {"token_type", "271 values for 270"});
  refused([](Bytes& f) { f.types.pop_back(); }, {"token_type", "269 values for 270"});
  refused([](Bytes& f) { f.types[5] = 7; }, {"token_type[5]", "7"});
  refused([](Bytes& f) { f.types[5] = 0; }, {"token_type[5]", "0"});
  refused([](Bytes& f) { f.merges[1] = "ll"; }, {"merges[1]", "\"ll\"", "pair"});
  refused([](Bytes& f) { f.merges[1] = " l"; }, {"merges[1]", "pair"});
  refused([](Bytes& f) { f.merges[1] = "l "; }, {"merges[1]", "pair"});
  refused([](Bytes& f) { f.merges[1] = "l zz"; }, {"merges[1]", "tokenizer.ggml.tokens"});
  refused([](Bytes& f) { f.merges[1] = "l i"; }, {"merges[1]", "tokenizer.ggml.tokens"});
  refused([](Bytes& f) { f.merges[1] = "l \xFF"; }, {"merges[1]", "UTF-8"});
  refused([](Bytes& f) { f.set_id("eos_token_id", 270); }, {"eos_token_id is 270", "270 tokens"});
  refused([](Bytes& f) { f.set("eos_token_id", int64_t{-2}); }, {"eos_token_id is -2"});
  refused([](Bytes& f) { f.set_id("eot_token_id", 270); }, {"eot_token_id"});
  refused([](Bytes& f) { f.set_id("padding_token_id", 270); }, {"padding_token_id"});
  refused([](Bytes& f) { f.set("eos_token_id", "x"); }, {"eos_token_id"});
  refused([](Bytes& f) { f.set("add_bos_token", true); }, {"bos_token_id", "add_bos_token"});
  refused([](Bytes& f) { f.set("add_bos_token", "yes"); }, {"add_bos_token"});
  refused([](Bytes& f) { f.set("tokenizer.chat_template", "\xFF"); }, {"chat_template", "UTF-8"});
  Bytes fields;
  fields.set("tokens", "none");
  expect_user_error([&] { read_gguf_tokenizer(fields.GgufTokenizerFields::metadata()); },
                    {"tokenizer.ggml.tokens"});
  fields.set_tokens(fields.tokens, fields.types);
  expect_user_error([&] { read_gguf_tokenizer(fields.GgufTokenizerFields::metadata()); },
                    {"tokenizer.ggml.merges"});
}

TEST(GgufTokenizer, AnEmptyTokenIsUnused) {
  Bytes fields;
  fields.tokens['x'] = "";
  EXPECT_EQ(load(fields)->decode(TokenIds{'x'}), "[EMPTY_120]");
}

TEST(GgufTokenizer, FindsPiecesByTheirScores) {
  Pieces fields;
  const auto tokenizer = load(fields);
  EXPECT_EQ(tokenizer->encode("hi hi"), (TokenIds{Pieces::kSpaceHi, Pieces::kSpaceHi}));
  EXPECT_EQ(tokenizer->encode("h\xC3\xA9"),
            (TokenIds{Pieces::kSpace, Pieces::kH, Pieces::kBytes + 0xC3, Pieces::kBytes + 0xA9}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("h\xC3\xA9 hi")), "h\xC3\xA9 hi");
  EXPECT_EQ(tokenizer->text_frame().before, TokenIds{Pieces::kStart});
  EXPECT_TRUE(tokenizer->text_frame().after.empty());
  EXPECT_EQ(tokenizer->stop_tokens(), TokenIds{Pieces::kEnd});
  std::swap(fields.scores[Pieces::kHi], fields.scores[Pieces::kSpaceHi]);
  fields.scores[Pieces::kSpaceHi] = fields.scores[Pieces::kH];
  EXPECT_EQ(load(fields)->encode("hi"), TokenIds{Pieces::kSpaceHi});
  fields.set("add_bos_token", false);
  fields.set("add_eos_token", true);
  EXPECT_TRUE(load(fields)->text_frame().before.empty());
  EXPECT_EQ(load(fields)->text_frame().after, TokenIds{Pieces::kEnd});
  for (const char* key : {"bos_token_id", "eos_token_id"}) fields.erase(key);  // 1 and 2, then
  EXPECT_EQ(load(fields)->text_frame().after, TokenIds{Pieces::kEnd});
}

TEST(GgufTokenizer, PutsSpacesInFrontAsTheFamilyDoes) {
  Pieces fields;
  EXPECT_EQ(load(fields)->encode_special("hi</s>hi</s> hi"),
            (TokenIds{Pieces::kSpaceHi, Pieces::kEnd, Pieces::kSpaceHi, Pieces::kEnd,
                      Pieces::kTwoSpaces, Pieces::kHi}));
  fields.types[Pieces::kInst] = 3;  // Mistral's later ones
  EXPECT_EQ(
      load(fields)->encode_special("hi[INST]hi[INST] hi"),
      (TokenIds{Pieces::kSpaceHi, Pieces::kInst, Pieces::kHi, Pieces::kInst, Pieces::kSpaceHi}));
  fields.set("add_space_prefix", false);  // Gemma
  EXPECT_EQ(load(fields)->encode("hi"), TokenIds{Pieces::kHi});
  EXPECT_EQ(load(fields)->decode(TokenIds{Pieces::kSpaceHi}), " hi");
}

TEST(GgufTokenizer, UserDefinedPiecesAreFoundInText) {
  Pieces fields;
  fields.set("add_space_prefix", false);
  const auto tokenizer = load(fields);
  EXPECT_EQ(tokenizer->encode("h  hi"), (TokenIds{Pieces::kH, Pieces::kTwoSpaces, Pieces::kHi}));
  EXPECT_EQ(tokenizer->decode(TokenIds{Pieces::kH, Pieces::kTwoSpaces, Pieces::kHi}), "h  hi");
  for (const auto& [typed, id] :
       {std::pair("<table>", Pieces::kTable), std::pair("<turn>", Pieces::kTurn)}) {
    EXPECT_EQ(std::ranges::count(tokenizer->encode(typed), id), 0) << typed;
    EXPECT_EQ(tokenizer->encode_special(typed), TokenIds{id}) << typed;
  }
  EXPECT_EQ(tokenizer->decode(TokenIds{Pieces::kTable, Pieces::kTurn}), "<table>");
}

TEST(GgufTokenizer, TakesPiecesWithoutBytesOrWithoutAnUnknownKind) {
  Pieces fields;
  fields.types[Pieces::kUnknown] = 3;  // as converters of a tokenizer.json have it
  load(fields);
  for (int32_t& type : fields.types) type = type == 6 ? 5 : type;
  EXPECT_EQ(load(fields)->encode("h\xC3\xA9"),
            (TokenIds{Pieces::kSpace, Pieces::kH, Pieces::kUnknown}));
  fields.set_id("unknown_token_id", Pieces::kTurn);
  EXPECT_EQ(load(fields)->encode("h\xC3\xA9").back(), Pieces::kTurn);
}

TEST(GgufTokenizer, RefusesBadPieces) {
  const auto refused = [](const auto& spoil, const std::vector<std::string>& parts) {
    Pieces fields;
    spoil(fields);
    expect_refused(fields, parts);
  };
  refused([](Pieces& f) { f.scores.pop_back(); }, {"tokenizer.ggml.scores", "267 values for 268"});
  refused([](Pieces& f) { f.scores[4] = NAN; }, {"tokenizer.ggml.scores[4]", "finite"});
  refused([](Pieces& f) { f.types[9] = 1; }, {"255 tokens for bytes"});
  refused([](Pieces& f) { f.types[0] = 1; }, {"token 0", "<unk>", "ordinary"});
  refused([](Pieces& f) { f.set_id("unknown_token_id", Pieces::kHi); }, {"260", "ordinary"});
  refused([](Pieces& f) { f.set_id("unknown_token_id", 999); }, {"unknown_token_id is 999"});
  refused([](Pieces& f) { f.set("remove_extra_whitespaces", true); }, {"remove_extra_whitespaces"});
  refused([](Pieces& f) { f.tokens[Pieces::kHi] = "▁▁"; }, {"not a sentencepiece model"});
  refused([](Pieces& f) { f.set_id("bos_token_id", Pieces::kHi); }, {"bos_token_id", "special"});
  Pieces fields;
  fields.set_strings("tokens", fields.tokens);
  fields.set_floats("scores", fields.scores);
  expect_user_error([&] { read_gguf_tokenizer(fields.GgufTokenizerFields::metadata()); },
                    {"token_type is missing"});
}

}  // namespace
}  // namespace predgen
