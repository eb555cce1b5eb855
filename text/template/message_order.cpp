#include "text/template/message_order.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "text/template/jinja_template.h"

namespace predgen {
namespace {

constexpr std::string_view kContentBlank = " \t\r\n";

std::string role_of(const Json& message) { return message.at("role").get<std::string>(); }
std::string content_of(const Json& message) { return message.at("content").get<std::string>(); }

std::string joined_contents(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + "\n\n" + other;
}

class Merger {
 public:
  explicit Merger(bool keeps_system) : keeps_system_(keeps_system) {}

  void add(const Json& message) {
    const std::string role = role_of(message);
    if (role == "system" && result_.empty()) {
      system_ = joined_contents(system_, content_of(message));
    } else if (role == "system") {  // stands behind what functions say, if it comes between
      late_ = joined_contents(late_, content_of(message));
    } else if (role == "tool") {
      push(message);
    } else {
      add_late();
      push(message);
    }
  }

  Json take() {
    add_late();
    if (system_.empty()) return std::move(result_);
    if (keeps_system_) {
      result_.insert(result_.begin(), said("system", system_));
    } else if (!result_.empty() && role_of(result_.front()) == "user") {
      result_.front()["content"] = joined_contents(system_, content_of(result_.front()));
    } else {
      result_.insert(result_.begin(), said("user", system_));
    }
    return std::move(result_);
  }

 private:
  static Json said(const std::string& role, const std::string& content) {
    return {{"role", role}, {"content", content}};
  }

  void add_late() {
    if (!late_.empty()) push(said("user", std::exchange(late_, {})));
  }

  void push(const Json& message) {
    const std::string role = role_of(message);
    if (result_.empty() && role != "user") result_.push_back(said("user", ""));
    const bool is_neighbour = !result_.empty() && role != "tool" &&
                              role_of(result_.back()) == role && !message.contains("tool_calls") &&
                              !result_.back().contains("tool_calls");
    if (is_neighbour) {
      result_.back()["content"] = joined_contents(content_of(result_.back()), content_of(message));
    } else {
      result_.push_back(message);
    }
  }

  const bool keeps_system_;
  std::string system_, late_;
  Json result_ = Json::array();
};

}  // namespace

Json in_order(const Json& messages, MessageOrder order) {
  if (order == MessageOrder::kAsGiven) return messages;
  Merger merger(order == MessageOrder::kMerged);
  for (const Json& message : messages) merger.add(message);
  return merger.take();
}

namespace {

/// Stands for the content of message `index`; never occurs in UTF-8.
std::string content_mark(size_t index) { return fmt::format("\xFE{}\xFE", index); }

/// Whether `text` has a content word for word, without white space at its ends.
bool shows(const std::string& text, std::string content, size_t& from) {
  content.erase(0, content.find_first_not_of(kContentBlank));
  if (content.empty()) return true;
  content.erase(content.find_last_not_of(kContentBlank) + 1);
  size_t at = text.find(content, from);  // they mostly come in order
  if (at == std::string::npos) at = text.find(content);
  if (at != std::string::npos) from = at;
  return at != std::string::npos;
}

/// The role of a system's or function's message that `text`, which `run` made of `messages`, does
/// not show in any form, though it shows what users say.
std::optional<std::string> find_lost(const Json& messages, const std::string& text,
                                     const std::function<std::string(const Json&)>& run) {
  std::vector<size_t> missing, of_users;
  size_t from = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string role = role_of(messages[i]);
    if (role == "user") {
      of_users.push_back(i);
    } else if (role != "assistant" && !shows(text, content_of(messages[i]), from)) {
      missing.push_back(i);
    }
  }
  if (missing.empty()) return std::nullopt;
  Json marked = messages;
  for (const auto* places : {&missing, &of_users}) {
    for (const size_t i : *places) marked[i]["content"] = content_mark(i);
  }
  std::string shown;
  try {
    shown = run(marked);
  } catch (const TemplateRaised&) {
    return std::nullopt;  // it looks into contents
  }
  const auto has_mark = [&](size_t i) { return shown.find(content_mark(i)) != std::string::npos; };
  if (!of_users.empty() && std::none_of(of_users.begin(), of_users.end(), has_mark)) {
    return std::nullopt;  // a template that has no use for contents
  }
  const auto lost = std::find_if_not(missing.begin(), missing.end(), has_mark);
  if (lost == missing.end()) return std::nullopt;
  return role_of(messages[*lost]);
}

}  // namespace

std::string render_in_order(const Json& messages, const std::string& where, bool must_show,
                            const std::function<std::string(const Json&)>& run) {
  std::optional<UserError> refusal;
  Json last;
  for (const MessageOrder order :
       {MessageOrder::kAsGiven, MessageOrder::kMerged, MessageOrder::kWithoutSystem}) {
    const Json ordered = in_order(messages, order);
    if (ordered == last) continue;
    last = ordered;
    try {
      std::string text = run(ordered);
      const auto lost = must_show ? find_lost(ordered, text, run) : std::nullopt;
      if (!lost) return text;
      if (!refusal) {
        refusal.emplace(
            fmt::format("{}: leaves out what a message with the role \"{}\" says; give a "
                        "template that shows it with --chat-template FILE",
                        where, *lost));
      }
    } catch (const TemplateRaised& raised) {
      if (!refusal) refusal = raised;
    }
  }
  throw UserError(*refusal);
}

}  // namespace predgen
