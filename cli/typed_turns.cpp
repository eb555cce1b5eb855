#include "cli/typed_turns.h"

#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cli/chat_screen.h"
#include "cli/turn_summary.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "runtime/converse/session_options.h"
#include "runtime/listen/scheduled_source.h"
#include "runtime/speech/speaker.h"

namespace predgen::cli {
namespace {

/// Shows log messages as lines of the chat: otherwise they would garble the screen.
class ScreenLog : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ScreenLog(ChatScreen& screen) : screen_(&screen) {}
  void forget_screen() {
    const std::lock_guard lock(mutex_);
    screen_ = nullptr;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (screen_) screen_->print_line(std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  ChatScreen* screen_;
};

/// The log goes to the screen while this lives.
class LogOnScreen {
 public:
  explicit LogOnScreen(ChatScreen& screen)
      : before_(spdlog::default_logger()), sink_(std::make_shared<ScreenLog>(screen)) {
    auto logger = std::make_shared<spdlog::logger>("", sink_);
    logger->set_level(before_->level());
    spdlog::set_default_logger(logger);
  }
  ~LogOnScreen() {
    // A thread may still be in it.
    static std::vector<std::shared_ptr<spdlog::logger>> kept;
    kept.push_back(spdlog::default_logger());
    sink_->forget_screen();
    spdlog::set_default_logger(before_);
  }
  LogOnScreen(const LogOnScreen&) = delete;

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::shared_ptr<ScreenLog> sink_;
};

class TypedTurns {
 public:
  TypedTurns(Conversation& conversation, ChatScreen& screen, SystemClock& clock,
             const std::stop_token& stop)
      : conversation_(conversation),
        session_(conversation.session()),
        screen_(screen),
        clock_(clock),
        end_(stop) {}

  void run() {
    do {
      stop_ = screen_.begin_turn();
      try {
        if (!run_turn()) break;
      } catch (const Interrupted&) {
        throw_if_stopped(end_);
        if (screen_.is_leaving()) break;
        const bool is_kept = is_said_ && !session_.interrupt().empty();
        session_.set_history(session_.history());  // what else the turn had cached goes
        last_.reset();
        screen_.end_turn(is_kept ? "[stopped; what was said is kept]"
                                 : "[stopped; this turn is forgotten]");
      }
    } while (true);
    throw_if_stopped(end_);
  }

 private:
  /// False: the user has left.
  bool run_turn() {
    std::vector<Message> before = session_.history();
    is_said_ = false;
    const std::optional<TurnResult> result = session_.run_turn(screen_.source(), observer(), stop_);
    if (!result) {
      const std::optional<ChatCommand> command = screen_.take_command();
      if (command) attempt(*command);
      return command.has_value();
    }
    if (result->error) {
      screen_.end_turn("[this turn failed and is forgotten: " + result->error->text + "]");
      return true;
    }
    before_ = std::move(before);
    last_ = *result;
    screen_.end_turn("[" + turn_summary(result->metrics) + "]");
    if (const auto cut = cut_message(*result)) screen_.end_turn("[" + *cut + "]");
    return true;
  }

  TurnObserver observer() {
    TurnObserver observer;
    observer.on_draft = [this](const std::string& draft, size_t accepted_bytes) {
      screen_.show_draft(draft, accepted_bytes);
    };
    observer.on_first_sentence = [this](const std::string& sentence) {
      screen_.mark_first_sentence(sentence);
    };
    observer.on_text = [this](const std::string& text) {
      is_said_ = true;
      screen_.print_answer(text);
    };
    observer.on_rounds_dropped = [this](int64_t num_rounds) {
      screen_.print_line(dropped_rounds_message(num_rounds));
    };
    return observer;
  }

  void attempt(const ChatCommand& command) {
    try {
      carry_out(command);
    } catch (const UserError& error) {
      screen_.print_line(error.what());
    }
  }

  void carry_out(const ChatCommand& command) {
    switch (command.kind) {
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

  void use_decoder(const std::string& name) {
    SessionConfig config = session_.config();
    config.generator.name = name;
    if (config.wants_prices(conversation_.engine().model()) && !config.generator.prices.is_known())
      measure_prices(config.generator, conversation_.engine());
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
    if (!last_) {
      screen_.print_line("there is no turn to compare with yet");
      return;
    }
    SessionConfig config = session_.config();
    config.turn.work = InputTimeWork::kCascade;
    config.generator.sources.clear();
    config.generator.uses_masks = false;
    config.first_turn = last_->number;  // the same draws
    Session cascade(config, conversation_.engine(), conversation_.tokenizer(),
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

  Conversation& conversation_;
  Session& session_;
  ChatScreen& screen_;
  SystemClock& clock_;
  const std::stop_token end_;  // of the chat
  std::stop_token stop_;       // of the turn
  std::optional<TurnResult> last_;
  std::vector<Message> before_;  // the history without the last turn
  bool is_said_ = false;         // part of the current answer is on the screen
};

}  // namespace

void run_typed_turns(const ConversationOptions& options,
                     std::unique_ptr<const Checkpoint> checkpoint, SystemClock& clock, int in,
                     int out, const std::stop_token& stop) {
  std::optional<Conversation> conversation;  // outlives the screen, which asks its speaker
  {
    ChatScreen screen(
        in, out, clock, {verifier_choices(), generator_names()},
        [&] { return conversation->speaker().is_ready_ahead(); }, stop);
    const LogOnScreen log(screen);
    const auto show_loading = [&screen, shown = -1](double share) mutable {
      const int percent = static_cast<int>(100 * share);
      if (percent != std::exchange(shown, percent)) screen.show_loading(percent);
    };
    conversation.emplace(options, std::move(checkpoint), clock, stop, nullptr, false, show_loading);
    TypedTurns(*conversation, screen, clock, stop).run();
  }
  conversation->drain();
}

}  // namespace predgen::cli
