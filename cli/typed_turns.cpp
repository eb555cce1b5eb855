#include "cli/typed_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cli/chat_screen.h"
#include "cli/input_rows.h"
#include "cli/measured_models.h"
#include "cli/turn_summary.h"
#include "core/error.h"
#include "core/stop.h"
#include "hear/transcripts/scheduled_source.h"
#include "runtime/converse/conversation.h"
#include "runtime/converse/session_options.h"
#include "runtime/speech/speaker.h"

namespace predgen::cli {
namespace {

class TypedTurns : private ConversationListener {
 public:
  TypedTurns(LoadedSession& loaded, const SamplingFlags& sampling, ChatScreen& screen,
             SystemClock& clock, const std::stop_token& stop)
      : loaded_(loaded),
        sampling_(sampling),
        session_(loaded.session()),
        screen_(screen),
        clock_(clock),
        end_(stop),
        conversation_({.asks = false, .tools = loaded.tools()}, *this, clock, stop) {}

  void run() {
    if (ToolRounds* tools = loaded_.tools()) {
      tools->set_listener(
          [this](const ToolEvent& event) { screen_.print_line("[" + event_line(event) + "]"); });
    }
    while (run_turn()) continue;
    throw_if_stopped(end_);
  }

 private:
  /// False: the user has left.
  bool run_turn() {
    stop_ = screen_.begin_turn();
    replaced_.reset();
    if (!answer(screen_.source())) {
      const std::optional<ChatCommand> command = screen_.take_command();
      if (!command) return false;
      attempt(*command);
    }
    return !has_left_;
  }

  /// False: the source has ended, or a command came.
  bool answer(TranscriptSource& source) {
    history_ = session_.history();
    is_said_ = false;
    conversation_.begin_turn();
    const std::stop_callback on_stop(stop_, [this] { conversation_.stop_turn(); });
    return conversation_.take_turn_begun(session_, source);
  }

  void on_event(const ConversationEvent& event) override {
    if (const auto* drafted = std::get_if<Drafted>(&event)) {
      screen_.show_draft(drafted->draft, drafted->accepted_bytes);
    } else if (const auto* calling = std::get_if<CallsDrafted>(&event)) {
      screen_.show_draft(drafted_calls(calling->calls), 0);
    } else if (const auto* ready = std::get_if<SentenceDrafted>(&event)) {
      screen_.mark_first_sentence(ready->sentence);
    } else if (const auto* said = std::get_if<Said>(&event)) {
      is_said_ = true;
      screen_.print_answer(said->text);
    } else if (const auto* dropped = std::get_if<RoundsDropped>(&event)) {
      screen_.print_line(dropped_rounds_message(dropped->num_rounds));
    } else if (const auto* answered = std::get_if<Answered>(&event)) {
      end_turn(answered->result);
    } else if (const auto* broken = std::get_if<BrokenOff>(&event)) {
      break_off(broken->kept);
    }
  }

  void end_turn(const TurnResult& result) {
    if (result.error) {
      screen_.end_turn("[this turn failed and is forgotten: " + result.error->text + "]");
      if (replaced_) session_.set_history(*replaced_);
      return;
    }
    before_ = std::move(history_);
    config_ = session_.config();
    last_ = result;
    screen_.end_turn("[" + turn_summary(result.metrics) + "]");
    if (const auto cut = cut_message(result)) screen_.end_turn("[" + *cut + "]");
  }

  /// The user has stopped the turn. `kept`: what the history keeps of the last answer.
  void break_off(const std::string& kept) {
    has_left_ = screen_.is_leaving();
    if (has_left_) return;
    const bool has_acted = loaded_.tools() && loaded_.tools()->has_acted();
    const bool is_kept = (is_said_ && !kept.empty()) || has_acted;
    // What else the turn had cached goes.
    session_.set_history(!is_kept && replaced_ ? *replaced_ : session_.history());
    last_.reset();
    screen_.end_turn(is_kept     ? "[stopped; what was said is kept]"
                     : replaced_ ? "[stopped; the answer of before stays]"
                                 : "[stopped; this turn is forgotten]");
  }

  void attempt(const ChatCommand& command) {
    try {
      carry_out(command);
    } catch (const Interrupted&) {
      throw_if_stopped(end_);
      break_off("");
    } catch (const UserError& error) {
      screen_.print_line(error.what());
    }
  }

  void carry_out(const ChatCommand& command) {
    switch (command.kind) {
      case ChatCommand::Kind::kAgain:
        ask_again();
        break;
      case ChatCommand::Kind::kSystem:
        if (!command.text.empty()) use(system_prompt_text(command.text), session_.history());
        show_system_prompt();
        break;
      case ChatCommand::Kind::kTemperature:
        if (command.temperature) use_temperature(*command.temperature);
        show_temperature();
        break;
      case ChatCommand::Kind::kVerifier:
        use_verifier(command);
        break;
      case ChatCommand::Kind::kDecoder:
        use_decoder(command.name);
        screen_.print_line("decoder: " + command.name);
        break;
      case ChatCommand::Kind::kCompare:
        compare();
        break;
      case ChatCommand::Kind::kSave:
        save_chat(command.text, {session_.config().system_prompt, session_.history()});
        screen_.print_line("saved in " + command.text);
        break;
      case ChatCommand::Kind::kLoad:
        load(command.text);
        break;
      case ChatCommand::Kind::kReset:
        session_.set_history({});
        last_.reset();
        screen_.print_line("the conversation is forgotten");
        break;
      case ChatCommand::Kind::kHelp:
      case ChatCommand::Kind::kQuit:
        break;  // the screen's own
    }
  }

  void ask_again() {
    std::vector<Message> history = session_.history();
    const auto question =
        std::ranges::find(history.rbegin(), history.rend(), "user", &Message::role);
    if (question == history.rend()) throw UserError("there is no question yet");
    ScheduledSource source({{.text = question->content, .time = clock_.now(), .is_final = true}});
    replaced_ = history;
    history.erase(std::prev(question.base()), history.end());
    session_.interrupt();  // what is still being said
    session_.set_history(history, stop_);
    answer(source);
  }

  /// Those of before stay if the model's chat template cannot have them.
  void use(const std::string& system_prompt, const std::vector<Message>& history) {
    const std::string prompt_before = session_.config().system_prompt;
    const std::vector<Message> history_before = session_.history();
    session_.set_system_prompt(system_prompt);
    try {
      session_.set_history(history, stop_);
    } catch (const UserError&) {
      session_.set_system_prompt(prompt_before);
      session_.set_history(history_before);
      throw;
    }
  }

  void show_system_prompt() {
    const std::string& text = session_.config().system_prompt;
    screen_.print_line(text.empty() ? "no system prompt" : "system prompt: " + text);
  }

  void use_temperature(double temperature) {
    sampling_.temperature = temperature;
    session_.set_sampling(sampling_.parse(loaded_.checkpoint().read_generation()));
  }

  void show_temperature() {
    const std::optional<SamplingConfig>& sampling = session_.config().sampling;
    screen_.print_line(fmt::format("temperature: {}", sampling ? sampling->temperature : 0));
  }

  void load(const std::string& file) {
    const SavedChat chat = load_chat(file);
    use(chat.system_prompt, chat.history);
    last_.reset();
    screen_.print_line(fmt::format("{} {} of {}; go on", chat.history.size() / 2,
                                   chat.history.size() == 2 ? "round" : "rounds", file));
    show_system_prompt();
  }

  void use_decoder(const std::string& name) {
    SessionConfig config = session_.config();
    config.generator.name = name;
    if (config.wants_costs(loaded_.engine().model()) && !config.generator.costs.is_known())
      measure_costs(config.generator, loaded_.engine());
    session_.set_generator(config.generator);
  }

  void use_verifier(const ChatCommand& command) {
    const bool speculates = command.name != "off";
    if (speculates) {
      VerifierConfig verifier = session_.config().verifier;
      verifier.name = command.name;
      if (command.top_k > 0) verifier.top_k = command.top_k;
      session_.set_verifier(verifier);
    }
    session_.set_work(speculates ? InputTimeWork::kSpeculate : InputTimeWork::kCascade);
    const bool has_k = command.name == "topk";
    screen_.print_line("verifier: " + command.name +
                       (has_k ? " " + std::to_string(session_.config().verifier.top_k) : ""));
  }

  /// The last turn again as a plain cascade, which begins when the line is sent, without sound.
  void compare() {
    if (!last_ || !last_->calls.empty()) {
      screen_.print_line(last_ ? "a turn that has called tools cannot be compared"
                               : "there is no turn to compare with yet");
      return;
    }
    SessionConfig config = config_;
    config.turn.work = InputTimeWork::kCascade;
    config.generator.sources.clear();
    config.generator.uses_masks = false;
    config.first_turn = last_->number;  // the same draws
    Session cascade(config, loaded_.engine(), loaded_.tokenizer(),
                    std::make_unique<SilentSpeaker>(), clock_);
    cascade.set_history(before_);
    ScheduledSource source({{.text = last_->prompt_text, .time = clock_.now(), .is_final = true}});
    const std::optional<TurnResult> result = cascade.run_turn(source, {}, stop_);
    if (!result || result->error) {
      screen_.print_line("the comparison failed" + (result ? ": " + result->error->text : ""));
      return;
    }
    screen_.print_line("this turn:     " + turn_summary(last_->metrics));
    screen_.print_line("plain cascade: " + turn_summary(result->metrics));
    screen_.print_line(result->text == last_->text ? "the texts are the same"
                                                   : "the cascade's text: " + result->text);
  }

  LoadedSession& loaded_;
  SamplingFlags sampling_;  // as asked for at the start, with the temperature of now
  Session& session_;
  ChatScreen& screen_;
  SystemClock& clock_;
  const std::stop_token end_;  // of the chat
  std::stop_token stop_;       // of the turn
  bool has_left_ = false;
  std::optional<TurnResult> last_;
  std::vector<Message> history_;  // before the turn in progress
  std::vector<Message> before_;   // before the last one
  SessionConfig config_;          // of that turn
  /// The history that comes back if the answer that is to replace its last one fails.
  std::optional<std::vector<Message>> replaced_;
  bool is_said_ = false;  // part of the current answer is on the screen
  Conversation conversation_;
};

}  // namespace

void run_typed_turns(const ConversationOptions& options,
                     std::unique_ptr<const Checkpoint> checkpoint, SystemClock& clock, int in,
                     int out, const std::stop_token& stop) {
  std::optional<LoadedSession> loaded;  // outlives the screen, which asks its speaker
  {
    ChatScreen screen(
        in, out, clock, {verifier_choices(), generator_names()},
        [&] { return loaded->session().speaker().is_ready_ahead(); }, stop);
    const ChatLog log(screen);
    const auto show_loading = [&screen, shown = -1](double share) mutable {
      const int percent = static_cast<int>(100 * share);
      if (percent != std::exchange(shown, percent)) screen.show_loading(percent);
    };
    loaded.emplace(options, std::move(checkpoint), clock, stop, nullptr, false, show_loading);
    const std::string better = measure_better(options.model.model);
    if (!better.empty()) screen.print_line(better);
    TypedTurns(*loaded, options.sampling, screen, clock, stop).run();
  }
  loaded->drain();
}

}  // namespace predgen::cli
