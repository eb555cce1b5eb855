#include "data/build_config.h"

#include <glob.h>

#include "core/error.h"
#include "core/files.h"
#include "data/conversation.h"

namespace predgen::data {
namespace {

constexpr int kBuilderVersion = 4;  // raise it when the same configuration yields different tokens
constexpr int64_t kMany = int64_t{1} << 40;

const std::vector<std::pair<std::string, ExampleLaw>> kLaws{{"truncated", ExampleLaw::kTruncated},
                                                            {"whole", ExampleLaw::kWhole}};

void read_filters(ConfigReader reader, FilterConfig& filters) {
  reader.optional("languages", filters.languages);
  reader.optional("drop_redacted", filters.drop_redacted);
  reader.optional("drop_flagged", filters.drop_flagged);
  reader.optional("min_turns", filters.min_turns, int64_t{1}, kMany);
  reader.optional("max_tokens", filters.max_tokens, int64_t{0}, kMany);
}

void read_held_out(ConfigReader reader, HeldOutConfig& held_out) {
  reader.optional("files", held_out.files);
  reader.optional("fraction", held_out.fraction, 0.0, 0.9);
  reader.optional("min_words", held_out.min_words, int64_t{1}, kMany);
}

std::string law_name(ExampleLaw law) {
  for (const auto& [name, value] : kLaws) {
    if (value == law) return name;
  }
  throw Error("law {} has no name", static_cast<int>(law));
}

}  // namespace

BuildConfig BuildConfig::read(ConfigReader& reader) {
  BuildConfig config;
  reader.required("tokenizer", config.tokenizer);
  reader.optional("chat_template", config.chat_template);
  reader.required("output", config.output);
  config.read_examples(reader);
  return config;
}

void BuildConfig::read_examples(ConfigReader& reader) {
  reader.required("sources", sources);
  if (sources.empty()) reader.problem("sources", "names no file");
  reader.optional("seed", seed, int64_t{0}, kMany);
  reader.choice("law", law, kLaws);
  reader.optional("examples_per_conversation", examples_per_conversation, int64_t{1},
                  int64_t{1000});
  if (law == ExampleLaw::kWhole && examples_per_conversation != 1) {
    reader.problem("examples_per_conversation", "the law \"whole\" makes one example of each");
  }
  reader.optional("system_prompt", system_prompt);
  reader.optional("skip_bad_rows", skip_bad_rows);
  reader.optional("max_conversations", max_conversations, int64_t{0}, kMany);
  reader.optional("threads", threads, int64_t{0}, int64_t{1024});
  reader.optional("records_per_shard", records_per_shard, int64_t{1}, kMany);
  read_filters(reader.section("filters"), filters);
  read_held_out(reader.section("held_out"), held_out);
}

Json BuildConfig::recipe() const {
  return {{"kind", "examples"},
          {"builder_version", kBuilderVersion},
          {"law", law_name(law)},
          {"seed", seed},
          {"examples_per_conversation", examples_per_conversation},
          {"system_prompt", system_prompt},
          {"skip_bad_rows", skip_bad_rows},
          {"max_conversations", max_conversations},
          {"filters",
           {{"languages", filters.languages},
            {"drop_redacted", filters.drop_redacted},
            {"drop_flagged", filters.drop_flagged},
            {"min_turns", filters.min_turns},
            {"max_tokens", filters.max_tokens}}},
          {"held_out", {{"fraction", held_out.fraction}, {"min_words", held_out.min_words}}}};
}

std::vector<std::filesystem::path> expand_globs(const std::vector<std::string>& patterns) {
  std::vector<std::filesystem::path> files;
  for (const std::string& pattern : patterns) {
    const std::string expanded = expand_variables(pattern);
    glob_t matches{};
    const int result = glob(expanded.c_str(), GLOB_TILDE, nullptr, &matches);
    files.insert(files.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    const bool found = result == 0 && matches.gl_pathc > 0;
    globfree(&matches);
    if (!found) throw missing_data(expanded);
  }
  return files;
}

}  // namespace predgen::data
