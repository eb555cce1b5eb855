#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/random.h"
#include "core/stop.h"
#include "runtime/converse/tool_rounds.h"
#include "tests/fakes/campaign_seeds.h"
#include "tests/fakes/scheduled_calls.h"
#include "tests/fakes/stage.h"

// Conversations with revisions, interruptions, tools that die or change, calls that are slow, asked
// for, or follow each other: with early calls nothing with effects leaves before the words are
// final, and what is said and remembered is what is said and remembered without them, if the tools
// say the same.
namespace predgen {
namespace {

using act::Effects;

/// Planted, for a check to find.
enum class Fault { kNone, kLyingHint, kOtherResult };

const std::vector<std::string> kPieces{R"(<tool_call>{"name": ")",
                                       R"(", "arguments": {"q": ")",
                                       R"(", "arguments": {"q":")",
                                       R"("}}</tool_call>)",
                                       "look",
                                       "find",
                                       "lamp",
                                       "door",
                                       "It says ",
                                       "Yes.",
                                       " Go",
                                       " on!",
                                       "Error: ",
                                       "Not done"};

uint64_t hash_of(const std::string& text) {
  uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  return hash ^ (hash >> 29);
}

std::string call_of(const std::string& tool, const std::string& argument) {
  return R"(<tool_call>{"name": ")" + tool + R"(", "arguments": {"q": ")" + argument +
         "\"}}</tool_call>";
}

/// What the model says to a user's words: mostly by the first one, so that calls are kept when
/// words follow. Or to what a tool has said.
std::string say(const std::string& user) {
  static const std::vector<std::string> kTools{"look", "find", "lamp", "door"};
  if (const size_t end = user.find('>'); end != std::string::npos) {
    const std::string said = user.substr(end + 1);
    const uint64_t hash = hash_of(said);
    if (hash % 5 == 0) return call_of(kTools[hash / 5 % 3], said.substr(0, 1));
    return "It says " + said + "." + (hash % 3 == 0 ? " Go on!" : "");
  }
  const std::string first = user.substr(0, user.find(' '));
  const uint64_t whole = hash_of(user), hash = whole % 5 == 0 ? whole : hash_of(first);
  switch (hash / 5 % 9) {
    case 0:
      return "Yes. Go on!";
    case 1:
      return "Yes." + call_of("look", first);
    case 2:
      return call_of("look", first) + call_of("find", first);
    case 3:
      return call_of("find", first) + call_of("lamp", first) + call_of("look", "z");
    case 4:
    case 6:
    case 7:
      return call_of("lamp", first);
    case 5:
      return call_of("door", first);
    default:
      return call_of(hash % 2 == 0 ? "look" : "find", first);
  }
}

/// A conversation on a virtual clock.
struct World {
  World(uint64_t seed, const ToolRoundOptions& options, InputTimeWork work)
      : model({.vocab_size = tokenizer.vocab_size(),
               .next = [this](TokenSpan history) -> TokenId {
                 const auto [user, place] = read_history(tokenizer, history);
                 const TokenIds& ids = answer_to(user);
                 return place < ids.size() ? ids[place] : FakeTokenizer::kEnd;
               }}),
        engine(borrowing_engine(model)),
        owned_speaker(std::make_unique<FakeSpeaker>(clock, Seconds(0.2))),
        speaker(*owned_speaker),
        session(Stage::session_config({.work = work,
                                       .preset = seed % 2 == 0 ? "default" : "",
                                       .max_draft_tokens = seed % 3 == 0 ? 24 : 64,
                                       .sound_ahead = true}),
                engine, tokenizer, std::move(owned_speaker), clock),
        rounds(calls, options, clock) {
    engine.observe_passes([this](const PassSize&) { clock.advance(Seconds(kPass)); });
    const auto tool = [](const char* name, Effects effects) {
      return act::Tool{.name = name, .server = "s", .own_name = name, .effects = effects};
    };
    calls.offered = {tool("look", Effects::kRead), tool("find", Effects::kRead),
                     tool("lamp", Effects::kWrites), tool("door", Effects::kDestructive)};
    calls.offered[3].asks = true;
  }
  const TokenIds& answer_to(const std::string& user) {
    const auto [known, is_new] = answers.try_emplace(user);
    if (is_new) known->second = tokenizer.encode(say(user));
    return known->second;
  }

  FakeTokenizer tokenizer{kPieces};
  std::map<std::string, TokenIds> answers;
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  FakeLanguageModel model;
  Engine engine;
  std::unique_ptr<FakeSpeaker> owned_speaker;
  FakeSpeaker& speaker;
  Session session;
  ScheduledCalls calls{clock};
  ToolRounds rounds;
  size_t num_said_before = 0;  // the last turn
};

/// When a turn is interrupted: at the so manieth draft, piece of text, second or event of a tool.
struct Interruption {
  int64_t draft = 0, piece = 0, event = 0;  // 0: not
  double seconds = 0;
};
Interruption draw_interruption(Random& random) {
  switch (random.below(12)) {
    case 0:
      return {.draft = 1 + static_cast<int64_t>(random.below(12))};
    case 1:
      return {.piece = 1 + static_cast<int64_t>(random.below(6))};
    case 2:
      return {.event = 1 + static_cast<int64_t>(random.below(4))};
    case 3:
      return {.seconds = 4 * random.uniform()};
    default:
      return {};
  }
}

/// What a turn has said, and whether to its end.
struct Said {
  std::string shown;
  std::optional<TurnResult> result{};  // nullopt: interrupted
};

struct Campaign {
  std::set<std::string> faults;
  int64_t num_turns = 0, num_interrupted = 0, num_begun = 0, num_kept = 0, num_hidden = 0,
          num_discarded = 0, num_effects = 0, num_asked = 0, num_failed = 0, num_rounds = 0,
          num_guessed = 0;
  void check(bool is_right, const std::string& what) {
    if (!is_right) faults.insert(what);
  }
};

/// A schedule: a conversation with early calls, and beside it the same one without.
class TwoConversations {
 public:
  TwoConversations(uint64_t seed, Fault fault, Campaign& campaign)
      : random_(seed, "tools"),
        fault_(fault),
        campaign_(campaign),
        options_(draw_options(random_)),
        early_(seed, options_, InputTimeWork::kSpeculate),
        plain_(seed + 1, plain_options(options_), InputTimeWork::kCascade) {
    if (fault == Fault::kLyingHint) early_.calls.offered[2].effects = Effects::kRead;
    early_.calls.answer = [this](const act::Tool& tool, const std::string& arguments) {
      return run_tool(tool, arguments);
    };
    early_.calls.guess = [this](const act::Tool&, const std::string& arguments) {
      return guess(arguments);
    };
    plain_.calls.answer = [this](const act::Tool& tool, const std::string& arguments) {
      return outcome_of(told_result(tool.name + arguments));
    };
    early_.rounds.set_listener([this](const ToolEvent& event) { hear(event); });
  }

  void run(int64_t num_turns) {
    std::string words_before;
    bool was_interrupted = false;
    for (int64_t turn = 0; turn < num_turns; ++turn) {
      const bool is_asked = !was_interrupted && !early_.session.history().empty() &&
                            early_.session.history().back().content.ends_with("?");
      const std::vector<Transcript> words =
          is_asked && random_.below(2) == 0 ? consent() : draw_words(turn);
      const std::vector<Message> before = early_.session.history();
      const Said said = speak(early_, words, draw_interruption(random_));
      check(early_.calls.num_alive == 0, "a call runs on after its turn");
      results_ = results_since(before.size());
      plain_.session.set_history(before);
      Transcript last = words.back();
      last.time = plain_.clock.now();
      const Said expected = speak(plain_, {last}, {});
      compare(said, expected, before.size());
      was_interrupted = !said.result;
    }
  }

 private:
  static ToolRoundOptions draw_options(Random& random) {
    return {.max_rounds = 1 + static_cast<int64_t>(random.below(4)),
            .filler = random.below(3) == 0 ? "One moment." : "",
            .act_within = 1e9,  // the two conversations take different times
            .early_calls = 1 + static_cast<int64_t>(random.below(4)),
            .early_stable = static_cast<int64_t>(random.below(3)),
            .early_seconds = random.below(4) == 0 ? 1.0 : 10.0,
            .early_age = random.below(4) == 0 ? 0.8 : 30.0};
  }
  static ToolRoundOptions plain_options(ToolRoundOptions options) {
    options.early_calls = 0;
    return options;
  }
  void check(bool is_right, const std::string& what) { campaign_.check(is_right, what); }

  std::vector<Transcript> draw_words(int64_t turn) {
    const double scale = 1 + 4 * random_.uniform();
    std::vector<Transcript> words =
        random_transcripts(random_.below(1'000'000), 1e9, static_cast<uint64_t>(turn));
    words = with_pauses(std::move(words), random_.below(1'000'000));
    for (Transcript& heard : words) heard.time = early_.clock.now() + scale * heard.time;
    return words;
  }
  std::vector<Transcript> consent() {
    const double now = early_.clock.now().count();
    return {partial("Yes", now + 0.2), final_one("Yes, please.", now + 1)};
  }

  /// Of the world: it changes with each effect and in time, dies, and takes its time.
  ScheduledCalls::Outcome run_tool(const act::Tool& tool, const std::string& arguments) {
    using Status = act::ToolResult::Status;
    const bool has_effect = tool.name == "lamp" || tool.name == "door";
    if (has_effect) {
      ++campaign_.num_effects;
      ++num_effects_;
      check(is_final_, "an effect leaves before the words are final");
    }
    const double seconds = random_.below(3) * random_.uniform();
    const std::vector<std::string> failures{"Error: f", "Error: u", "Error: t"};
    const size_t failure = random_.below(12);
    const std::string value = arguments.substr(arguments.size() - 3, 1) +
                              std::to_string(num_effects_ % 3 + (random_.below(4) == 0 ? 3 : 0));
    ScheduledCalls::Outcome outcome =
        outcome_of((failure < failures.size() ? failures[failure] : "") + value);
    outcome.seconds = seconds;
    campaign_.num_failed += outcome.status != Status::kDone;
    return outcome;
  }
  /// At what a tool with effects will say: often right.
  std::optional<std::string> guess(const std::string& arguments) {
    switch (random_.below(4)) {
      case 0:
        return std::nullopt;
      case 1:
        return "w9";
      default:
        return arguments.substr(arguments.size() - 3, 1) + std::to_string((num_effects_ + 1) % 3);
    }
  }
  /// What a tool that says this has come to.
  static ScheduledCalls::Outcome outcome_of(const std::string& text) {
    using Status = act::ToolResult::Status;
    const Status status = text.starts_with("Error: f")   ? Status::kFailed
                          : text.starts_with("Error: u") ? Status::kUnavailable
                          : text.starts_with("Error: t") ? Status::kTimedOut
                                                         : Status::kDone;
    return {.text = text, .status = status, .may_have_happened = status == Status::kTimedOut};
  }
  void hear(const ToolEvent& event) {
    campaign_.num_begun += event.is_early && event.kind == ToolEvent::Kind::kRunning;
    campaign_.num_discarded += event.kind == ToolEvent::Kind::kDiscarded;
    campaign_.num_asked += event.kind == ToolEvent::Kind::kAsked;
    check(!event.is_early || event.kind != ToolEvent::Kind::kRunning || !is_final_,
          "a call is early after the words are final");
    if (event.kind == ToolEvent::Kind::kRunning && event.is_early) ++num_early_;
    check(num_early_ <= options_.early_calls, "more early calls than are allowed");
    ++num_events_;
    look();
  }

  Said speak(World& world, const std::vector<Transcript>& words, const Interruption& at) {
    Said said;
    std::stop_source stop;
    int64_t num_drafts = 0, num_pieces = 0;
    num_events_ = num_early_ = 0;
    world.num_said_before = world.speaker.all_said.size();
    is_final_ = false;
    const double begin = world.clock.now().count();
    look_ = [&] {
      const bool is_now = (at.draft > 0 && num_drafts == at.draft) ||
                          (at.piece > 0 && num_pieces == at.piece) ||
                          (at.event > 0 && num_events_ == at.event) ||
                          (at.seconds > 0 && world.clock.now().count() > begin + at.seconds);
      if (is_now) stop.request_stop();
    };
    world.calls.on_wait = look_;
    TurnObserver observer;
    observer.on_transcript = [&](const Transcript& heard) {
      is_final_ = heard.is_final;
      look_();
    };
    observer.on_draft = [&](const std::string&, size_t) {
      ++num_drafts;
      check(!is_final_, "a draft after the words are final");
      look_();
    };
    observer.on_text = [&](const std::string& text) {
      ++num_pieces;
      check(is_final_, "something is shown before the words are final");
      said.shown += text;
      look_();
    };
    ScheduledSource source(words);
    try {
      said.result = world.rounds.run_turn(world.session, source, observer, stop.get_token());
    } catch (const Interrupted&) {
      world.session.interrupt();
    }
    look_ = [] {};
    world.calls.on_wait = [] {};
    return said;
  }

  /// The calls and results of the messages from `begin` on, in order.
  std::vector<std::pair<std::string, std::string>> results_since(size_t begin) const {
    std::vector<std::pair<std::string, std::string>> results;
    const std::vector<Message> history = early_.session.history();
    std::map<std::string, ToolCall> calls;  // by id
    AnsweredCalls answered;
    for (size_t i = begin; i < history.size(); ++i) {
      for (const ToolCall& call : history[i].tool_calls) calls[call.id] = call;
      const std::string& text = history[i].content;
      const bool has_run = !text.starts_with("Not done") && !text.starts_with("Cancelled before") &&
                           !text.starts_with("Error: too many");
      if (history[i].role != "tool" || !has_run) continue;
      const ToolCall& call = calls.at(history[i].tool_call_id);
      if (answered.find(call) != nullptr) continue;
      const bool reads = call.name == "look" || call.name == "find";
      answered.add(call, reads ? Effects::kRead : Effects::kWrites, text);
      results.emplace_back(call.name + call.arguments, text);
    }
    return results;
  }
  std::string told_result(const std::string& key) {
    const auto next = std::ranges::find(results_, key, &std::pair<std::string, std::string>::first);
    if (next == results_.end()) return "x0";  // the other conversation has not come so far
    const std::string text = next->second;
    results_.erase(next);
    return fault_ == Fault::kOtherResult ? text + "0" : text;
  }

  void compare(const Said& said, const Said& expected, size_t begin) {
    ++campaign_.num_turns;
    if (!expected.result) return check(false, "the plain conversation is interrupted");
    check(!said.result || !said.result->error, "a turn fails");
    if (!said.result) {
      ++campaign_.num_interrupted;
      return check(expected.shown.starts_with(said.shown), "what was interrupted says other words");
    }
    const TurnResult &result = *said.result, &wanted = *expected.result;
    check(said.shown == expected.shown && result.text == wanted.text, "another text is said");
    check(result.answer == wanted.answer, "the answer has other tokens");
    check(result.calls.size() == wanted.calls.size(), "other calls");
    check(results_.empty(), "a result that the plain conversation does not ask for");
    const std::vector<Message> all = early_.session.history(), other = plain_.session.history();
    check(all.size() == other.size(), "another number of messages");
    for (size_t i = begin; i < std::min(all.size(), other.size()); ++i) {
      bool is_same = all[i].role == other[i].role && all[i].content == other[i].content &&
                     all[i].tool_calls.size() == other[i].tool_calls.size();
      for (size_t call = 0; is_same && call < all[i].tool_calls.size(); ++call) {
        is_same =
            canonical_call(all[i].tool_calls[call]) == canonical_call(other[i].tool_calls[call]);
      }
      check(is_same, "another message is remembered");
      campaign_.num_rounds += all[i].role == "tool";
    }
    check(said_of(early_) == said_of(plain_), "other words are spoken");
    campaign_.num_kept += result.metrics.early_calls_kept;
    campaign_.num_guessed += result.metrics.nfe_to_first_sentence == 0 &&
                             result.calls.size() == 1 && result.calls[0].name == "lamp" &&
                             result.text.starts_with("It says");
    campaign_.num_hidden +=
        result.metrics.early_calls_kept > 0 && result.metrics.nfe_to_first_sentence == 0;
  }
  /// In the last turn, without fillers.
  static std::string said_of(const World& world) {
    std::string all;
    for (size_t i = world.num_said_before; i < world.speaker.all_said.size(); ++i) {
      for (const auto& [time, sentence] : world.speaker.all_said[i]) {
        if (sentence != "One moment.") all += sentence + "|";
      }
    }
    return all;
  }
  void look() const { look_(); }

  Random random_;
  const Fault fault_;
  Campaign& campaign_;
  const ToolRoundOptions options_;
  World early_, plain_;
  std::function<void()> look_ = [] {};
  std::vector<std::pair<std::string, std::string>> results_;  // for the plain conversation
  bool is_final_ = false;
  int64_t num_events_ = 0, num_early_ = 0, num_effects_ = 0;
};

TEST(RandomTools, ChangeNothingButTheWait) {
  const c10::InferenceMode inference;
  Campaign all;
  const auto [begin, end] = campaign_seeds("PREDGEN_TOOL_SCHEDULE", 200);
  for (uint64_t seed = begin; seed < end; ++seed) {
    TwoConversations(seed, Fault::kNone, all).run(3);
    ASSERT_TRUE(all.faults.empty()) << "again with PREDGEN_TOOL_SCHEDULE=" << seed << ": "
                                    << fmt::format("{}", fmt::join(all.faults, "; "));
  }
  RecordProperty(
      "sum",
      fmt::format(
          "{} turns, {} interrupted, {} rounds, {} early calls, {} kept, {} discarded, {} turns "
          "without a pass, {} with a right guess, {} effects, {} asked, {} failures",
          all.num_turns, all.num_interrupted, all.num_rounds, all.num_begun, all.num_kept,
          all.num_discarded, all.num_hidden, all.num_guessed, all.num_effects, all.num_asked,
          all.num_failed));
  if (end - begin < 100) return;
  EXPECT_GT(all.num_kept, all.num_turns / 20) << "early calls are to be of use";
  EXPECT_GT(all.num_hidden, all.num_turns / 50) << "and to hide tools";
  EXPECT_GT(all.num_guessed, all.num_turns / 30) << "and guesses hide passes";
  EXPECT_GT(all.num_discarded, all.num_turns / 20) << "words are to change";
  EXPECT_GT(all.num_effects, all.num_turns / 20);
  EXPECT_GT(all.num_interrupted, all.num_turns / 20);
  EXPECT_GT(all.num_asked, 0);
  EXPECT_GT(all.num_failed, all.num_turns / 50) << "servers are to die";
}

TEST(RandomTools, EveryCheckFindsTheFaultThatItIsFor) {
  const c10::InferenceMode inference;
  const std::vector<std::pair<Fault, std::string>> planted{
      {Fault::kLyingHint, "an effect leaves before the words are final"},
      {Fault::kOtherResult, "another text is said"}};
  for (const auto& [fault, what] : planted) {
    Campaign all;
    for (uint64_t seed = 0; seed < 30; ++seed) TwoConversations(seed, fault, all).run(3);
    EXPECT_TRUE(all.faults.contains(what)) << what;
  }
}

}  // namespace
}  // namespace predgen
