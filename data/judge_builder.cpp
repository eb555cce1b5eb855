#include "data/judge_builder.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/progress.h"
#include "core/random.h"
#include "core/stop.h"
#include "core/text.h"
#include "data/dataset_store.h"
#include "data/example_builder.h"
#include "data/hdf5_store.h"
#include "data/held_out.h"
#include "data/trajectory_collector.h"
#include "runtime/converse/answer_reader.h"
#include "runtime/converse/system_prompt.h"
#include "runtime/listen/typed_source.h"
#include "runtime/speculate/judge_question.h"

namespace predgen::data {
namespace {

constexpr int kBuilderVersion = 1;  // raise it when the same configuration gives other examples
constexpr int64_t kBlockSize = 1;   // plain decoding

/// A user turn and what was there before it.
struct Round {
  std::string id;
  int64_t round = 0;
  std::vector<Message> history;
  std::vector<std::string> words;  // what the user has said, from a cut to the whole
};

struct Example {
  const Round* round;
  std::string words, sentence;
  bool fits = false;
};

class JudgeBuild {
 public:
  JudgeBuild(const JudgeBuildConfig& config, const Tokenizer& tokenizer, Engine& engine,
             const std::stop_token& stop)
      : config_(config),
        tokenizer_(tokenizer),
        engine_(engine),
        stop_(stop),
        system_text_(system_prompt_text(config.system_prompt)),
        held_out_(config.held_out.min_words) {
    for (const auto& file : expand_globs(config.held_out.files)) held_out_.add_file(file);
  }

  void write(DatasetWriter& writer) {
    draw_rounds();
    if (rounds_.empty()) throw UserError("the sources have no prompt of two words: check sources");
    std::vector<Example> examples = make_examples(first_sentences());
    balance(examples);
    const ExampleBuilder builder(tokenizer_, "none");
    int64_t count = 0;
    for (const Example& example : examples) {
      CorpusConversation chat;
      chat.id = example.round->id;
      chat.messages = judge_question(example.words, example.sentence);
      chat.messages.push_back({.role = "assistant", .content = example.fits ? "yes" : "no"});
      Record record = builder.whole(chat);
      record.round = example.round->round;
      if (++count > writer.size()) writer.append(record);
    }
    counters_["records"] = count;
    writer.finish(counters_);
  }

 private:
  void draw_rounds() {
    int64_t seen = 0;
    uint64_t row = 0;
    CorpusConversation conversation;
    for (const auto& file : expand_globs(config_.sources)) {
      const auto reader = open_conversations(file, BadRows::kFail);
      for (; reader->next(conversation); ++row) {
        throw_if_stopped(stop_);
        std::optional<Round> round = draw_round(conversation, row);
        if (!round) continue;
        // Every round that there is stays with the same probability.
        if (seen++ < config_.rounds) {
          rounds_.push_back(*std::move(round));
        } else if (const uint64_t place =
                       Random(seed(), "keep", row).below(static_cast<uint64_t>(seen));
                   place < rounds_.size()) {
          rounds_[place] = *std::move(round);
        }
      }
    }
    counters_["rows_read"] = row;
    counters_["rounds"] = rounds_.size();
  }

  std::optional<Round> draw_round(const CorpusConversation& conversation, uint64_t row) {
    if (check_conversation(conversation, {})) return std::nullopt;
    const std::vector<Message>& messages = conversation.messages;
    Random random(seed(), "judge", row);
    Round round;
    round.id = conversation.id;
    round.round =
        static_cast<int64_t>(random.below(static_cast<uint64_t>(num_rounds(conversation))));
    const size_t first = messages.front().role == "system" ? 1 : 0;
    const size_t last = first + 2 * static_cast<size_t>(round.round);
    if (!system_text_.empty()) {
      round.history.push_back({.role = "system", .content = system_text_});
    } else if (first == 1) {
      round.history.push_back(messages.front());
    }
    for (size_t i = first; i <= last; ++i) {
      const bool from_user = messages[i].role == "user";
      if (from_user && held_out_.overlap(messages[i].content) != PromptSet::Overlap::kNone) {
        return std::nullopt;
      }
      if (i < last) round.history.push_back(messages[i]);
    }
    std::vector<Transcript> typed = type_text(std::string(trimmed(messages[last].content)), 600);
    if (typed.size() < 2) return std::nullopt;  // nothing to cut
    std::vector<size_t> cuts(typed.size() - 1);
    for (size_t i = 0; i < cuts.size(); ++i) cuts[i] = i;
    random.shuffle(cuts);
    cuts.resize(std::min(cuts.size(), static_cast<size_t>(config_.cuts)));
    std::ranges::sort(cuts);
    for (const size_t cut : cuts) round.words.push_back(std::move(typed[cut].text));
    round.words.push_back(std::move(typed.back().text));
    return round;
  }

  /// Of the greedy answers to all prompts of all rounds, in their order; empty where there is none.
  std::vector<std::string> first_sentences() {
    std::vector<TrajectoryPrompt> prompts;
    std::vector<size_t> places;  // of the prompts that fit
    size_t num_prompts = 0;
    for (const Round& round : rounds_) {
      for (const std::string& words : round.words) {
        std::vector<Message> messages = round.history;
        messages.push_back({.role = "user", .content = words});
        TokenIds tokens = tokenizer_.render_chat(messages);
        const size_t place = num_prompts++;
        if (std::ssize(tokens) + kBlockSize > engine_.model().max_positions()) continue;
        prompts.push_back({.index = place, .tokens = std::move(tokens)});
        places.push_back(place);
      }
    }
    counters_["prompts"] = num_prompts;
    counters_["prompts_too_long"] = num_prompts - prompts.size();
    Progress progress("data judge", "answers", std::ssize(prompts));
    const std::vector<Trajectory> trajectories =
        collect_trajectories(engine_, prompts,
                             {.block_size = kBlockSize,
                              .max_answer_tokens = config_.max_answer_tokens,
                              .batch_tokens = config_.batch_tokens,
                              .seed = seed(),
                              .stop_tokens = tokenizer_.stop_tokens()},
                             stop_, [&](int64_t num_solved) { progress.update(num_solved); });
    std::vector<std::string> sentences(num_prompts);
    for (size_t i = 0; i < places.size(); ++i) {
      sentences[places[i]] = first_sentence(trajectories[i].answer);
    }
    return sentences;
  }

  std::string first_sentence(TokenSpan answer) const {
    AnswerReader reader(tokenizer_, SplitMode::kNatural);
    auto sentences = reader.push(answer).sentences;
    if (sentences.empty()) sentences = reader.finish().sentences;
    return sentences.empty() ? "" : sentences.front().text;
  }

  std::vector<Example> make_examples(const std::vector<std::string>& sentences) const {
    std::vector<Example> examples;
    size_t begin = 0;
    for (const Round& round : rounds_) {
      for (size_t longer = 1; longer < round.words.size(); ++longer) {
        for (size_t shorter = 0; shorter < longer; ++shorter) {
          const std::string& drafted = sentences[begin + shorter];
          const std::string& right = sentences[begin + longer];
          if (drafted.empty() || right.empty()) continue;
          examples.push_back({&round, round.words[longer], drafted, drafted == right});
        }
      }
      begin += round.words.size();
    }
    return examples;
  }

  /// In random order, and as many that fit as that do not.
  void balance(std::vector<Example>& examples) {
    const int64_t num_fitting = std::ranges::count(examples, true, &Example::fits);
    const int64_t num_others = std::ssize(examples) - num_fitting;
    counters_["questions"] = {{"yes", num_fitting}, {"no", num_others}};
    if (num_fitting == 0 || num_others == 0) {
      throw UserError(
          "{} of {} first sentences stay the same when words are added, so there is nothing to "
          "tell apart: raise rounds or cuts",
          num_fitting, examples.size());
    }
    Random(seed(), "order").shuffle(examples);
    std::map<bool, int64_t> room{{true, std::min(num_fitting, num_others)},
                                 {false, std::min(num_fitting, num_others)}};
    std::erase_if(examples, [&](const Example& example) { return room[example.fits]-- <= 0; });
  }

  uint64_t seed() const { return static_cast<uint64_t>(config_.seed); }

  const JudgeBuildConfig& config_;
  const Tokenizer& tokenizer_;
  Engine& engine_;
  const std::stop_token stop_;
  const std::string system_text_;
  PromptSet held_out_;
  std::vector<Round> rounds_;
  Json counters_ = Json::object();
};

Json make_recipe(const JudgeBuildConfig& config, const std::string& model_hash,
                 const Tokenizer& tokenizer) {
  return {{"kind", "judge"},
          {"builder_version", kBuilderVersion},
          {"sources", hash_files(expand_globs(config.sources))},
          {"held_out",
           {{"files", hash_files(expand_globs(config.held_out.files))},
            {"min_words", config.held_out.min_words}}},
          {"tokenizer", tokenizer.content_hash()},
          {"model", model_hash},
          {"dtype", config.dtype},
          {"system_prompt", config.system_prompt},
          {"seed", config.seed},
          {"rounds", config.rounds},
          {"cuts", config.cuts},
          {"max_answer_tokens", config.max_answer_tokens}};
}

}  // namespace

JudgeBuildConfig JudgeBuildConfig::read(ConfigReader& reader) {
  constexpr int64_t kMany = int64_t{1} << 40;
  JudgeBuildConfig config;
  reader.required("sources", config.sources);
  config.read_answering(reader);
  reader.optional("system_prompt", config.system_prompt);
  reader.optional("rounds", config.rounds, int64_t{1}, kMany);
  reader.optional("cuts", config.cuts, int64_t{1}, int64_t{1000});
  reader.optional("max_answer_tokens", config.max_answer_tokens, int64_t{1}, int64_t{65536});
  ConfigReader held_out = reader.section("held_out");
  held_out.optional("files", config.held_out.files);
  held_out.optional("min_words", config.held_out.min_words, int64_t{1}, kMany);
  return config;
}

Json build_judge_dataset(const JudgeBuildConfig& config, const std::string& model_hash,
                         const Tokenizer& tokenizer, Engine& engine, const std::stop_token& stop) {
  for (const char* reply : {"yes", "no"}) {
    if (tokenizer.encode(reply).size() != 1) {
      throw UserError("{} writes \"{}\" in several tokens, but a judgement is read from one",
                      config.model.string(), reply);
    }
  }
  const Json recipe = make_recipe(config, model_hash, tokenizer);
  if (!dataset_is_complete(config.output, recipe)) {
    const auto writer = create_dataset(config.output, recipe, {.resume = true});
    JudgeBuild(config, tokenizer, engine, stop).write(*writer);
  }
  return open_dataset(config.output)->manifest();
}

}  // namespace predgen::data
