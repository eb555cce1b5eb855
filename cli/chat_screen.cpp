#include "cli/chat_screen.h"

#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal/key_decoder.h"
#include "core/log.h"

namespace predgen::cli {
namespace {

constexpr int kPollMilliseconds = 50;  // how late a resize, a signal or the end is seen

}  // namespace

ChatScreen::ChatScreen(int in, int out, const Clock& clock, ChatChoices choices,
                       std::function<bool()> has_sound, std::stop_token stop)
    : terminal_(in, out),
      in_(in),
      has_sound_(std::move(has_sound)),
      stop_(std::move(stop)),
      source_(clock),
      chat_(source_, std::move(choices)) {
  update([&](TypedChat& chat) { chat.print_line("/help lists the commands; Ctrl-D leaves"); });
  reader_ = std::thread([this] {
    try {
      read_keys();
    } catch (...) {
      const Lock lock(mutex_);
      failure_ = std::current_exception();
      chat_.leave();
    }
  });
}

ChatScreen::~ChatScreen() {
  stopping_ = true;
  reader_.join();
  terminal_.write(chat_.draw_end(terminal_.size()));
}

void ChatScreen::read_keys() {
  KeyDecoder decoder;
  char buffer[4096];
  while (!stopping_) {
    if (stop_.stop_requested()) {
      update([&](TypedChat& chat) { chat.leave(); });
      return;
    }
    pollfd poller{.fd = in_, .events = POLLIN, .revents = 0};
    const int num_ready = poll(&poller, 1, kPollMilliseconds);
    if (num_ready < 0) continue;  // a signal
    if (num_ready == 0) {
      decoder.give_up();
      look_around();
      continue;
    }
    const ssize_t count = read(in_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {  // the terminal is gone
      update([&](TypedChat& chat) { chat.leave(); });
      return;
    }
    for (const Key& key : decoder.push({buffer, static_cast<size_t>(count)})) press(key);
    update([](TypedChat&) {});
  }
}

void ChatScreen::press(const Key& key) {
  const Lock lock(mutex_);
  if (key.kind == Key::Kind::kSuspend) {
    terminal_.write(chat_.draw_end(terminal_.size()));
    terminal_.suspend();
  }
  chat_.press(key);
  if (chat_.is_leaving() && chat_.is_loading()) {
    terminal_.write(chat_.draw_end(terminal_.size()));
    terminal_.give_back();
    std::_Exit(0);
  }
}

void ChatScreen::look_around() {
  std::string sentence;
  {
    const Lock lock(mutex_);
    if (terminal_.size() != drawn_) draw_locked();
    sentence = chat_.sentence_without_sound();
  }
  // Without the lock: a voice that fails logs its message, which is drawn here.
  if (!sentence.empty() && has_sound_())
    update([&](TypedChat& chat) { chat.mark_sound(sentence); });
}

void ChatScreen::update(const std::function<void(TypedChat& chat)>& change) {
  const Lock lock(mutex_);
  change(chat_);
  draw_locked();
}

void ChatScreen::draw_locked() {
  drawn_ = terminal_.size();
  if (!terminal_.write(chat_.draw(drawn_))) chat_.leave();
}

std::stop_token ChatScreen::begin_turn() {
  const Lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  std::stop_token stop = chat_.begin_turn();
  draw_locked();
  return stop;
}

void ChatScreen::show_loading(int percent) {
  update([&](TypedChat& chat) { chat.show_loading(percent); });
}

void ChatScreen::show_draft(const std::string& draft, size_t accepted_bytes) {
  update([&](TypedChat& chat) { chat.show_draft(draft, accepted_bytes); });
}

void ChatScreen::mark_first_sentence(const std::string& sentence) {
  update([&](TypedChat& chat) { chat.mark_first_sentence(sentence); });
}

void ChatScreen::print_answer(const std::string& text) {
  update([&](TypedChat& chat) { chat.print_answer(text); });
}

void ChatScreen::end_turn(const std::string& summary) {
  update([&](TypedChat& chat) { chat.end_turn(summary); });
}

void ChatScreen::print_line(const std::string& text) {
  update([&](TypedChat& chat) { chat.print_line(text); });
}

std::optional<ChatCommand> ChatScreen::take_command() {
  const Lock lock(mutex_);
  return chat_.take_command();
}

bool ChatScreen::is_leaving() {
  const Lock lock(mutex_);
  return chat_.is_leaving();
}

class ChatLog::Sink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Sink(ChatScreen& screen) : screen_(&screen) {}
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

ChatLog::ChatLog(ChatScreen& screen)
    : before_(spdlog::default_logger()), sink_(std::make_shared<Sink>(screen)) {
  auto logger = std::make_shared<spdlog::logger>("", sink_);
  logger->set_level(before_->level());
  spdlog::set_default_logger(logger);
}

ChatLog::~ChatLog() {
  // A thread may still be in it.
  static std::vector<std::shared_ptr<spdlog::logger>> kept;
  kept.push_back(spdlog::default_logger());
  sink_->forget_screen();
  spdlog::set_default_logger(before_);
}

}  // namespace predgen::cli
