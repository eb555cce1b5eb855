// Walks through grammars for grammar_parity.py. The argument is a tokenizer's folder. Each line of
// the input is an object with "schema" and "tokens", a path; each line of the output has "masks",
// the words of the allowed tokens at each place of the path, in hexadecimal, "ends" and "forced",
// whether the text may end there and what must come; or "error".
#include <fmt/format.h>

#include <iostream>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "text/grammar/grammar_compiler.h"
#include "text/tokenize/tokenizer_files.h"

namespace {

predgen::Json walked(const predgen::Json& one, predgen::GrammarCompiler& compiler,
                     int64_t vocab_size) {
  try {
    const auto grammar = compiler.compile(
        {.form = predgen::AnswerForm{.text = one.at("schema").dump(), .name = "the schema"}});
    predgen::GrammarMatcher matcher(*grammar);
    predgen::Json masks = predgen::Json::array(), ends = masks, forced = masks;
    const auto look = [&] {
      std::vector<uint32_t> words(static_cast<size_t>((vocab_size + 31) / 32));
      matcher.allow(words);
      std::string text;
      for (const uint32_t word : words) text += fmt::format("{:08x}", word);
      masks.push_back(text);
      ends.push_back(matcher.may_end());
      forced.push_back(matcher.forced_text());
    };
    look();
    for (const predgen::Json& token : one.at("tokens")) {
      if (!matcher.accept(token.get<int64_t>())) return {{"error", "a token is not taken"}};
      look();
    }
    return {{"masks", masks}, {"ends", ends}, {"forced", forced}};
  } catch (const predgen::UserError& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto tokenizer = predgen::load_tokenizer(predgen::TokenizerFiles::read(arguments[1]));
  predgen::GrammarCompiler compiler(*tokenizer);
  for (std::string line; std::getline(std::cin, line);) {
    const predgen::Json one = predgen::parse_json(line, "a line");
    std::cout << predgen::to_text(walked(one, compiler, tokenizer->vocab_size())) << std::endl;
  }
}
