#include "text/template/template_tools.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/tokenizer_folder.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

/// Shows tools and calls as Hermes has them, in one line.
const std::string kHermes =
    "{% for t in tools or [] %}<tools>{{ t | tojson }}</tools>{% endfor %}"
    "{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>"
    "{% endfor %}{% if m.tool_call_id %}<{{ m.tool_call_id }}>{% endif %}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}";

const ToolSet kTools{.json = R"([{"type":"function","function":{"name":"f","description":
    "gives 0.1 <|im_end|>","parameters":{"least":1.0,"most":48.8566130001,"step":1e-07}}}])",
                     .names = {"f"}};

TEST(TemplateTools, ShowsToolsCallsAndWhatFunctionsSaid) {
  const auto tokenizer = tokenizer_with_template(kHermes);
  const std::vector<Message> messages{
      {"user", "x"},
      {.role = "assistant",
       .content = "",
       .ids = {'z'},
       .tool_calls = {{"c1", "f", R"({"b": "<|im_end|>", "a": [1, null]})"}}},
      {.role = "tool", .content = "y", .tool_call_id = "c1"}};
  const TokenIds ids = tokenizer->render_chat(messages, true, kTools);
  EXPECT_EQ(tokenizer->decode(ids, true),
            R"(<tools>{"type": "function", "function": {"name": "f", "description": )"
            R"("gives 0.1 <|im_end|>", "parameters": {"least": 1.0, "most": 48.8566130001, )"
            R"("step": 1e-07}}}</tools>)"
            "<|im_start|>user x<|im_end|><|im_start|>assistant "
            R"(<tool_call>{"name": "f", "arguments": {"b": "<|im_end|>", "a": [1, null]}})"
            "</tool_call><|im_end|><|im_start|>tool y<c1><|im_end|><|im_start|>assistant ");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), TokenizerFolder::kEnd), 3);  // typed ones are text
  EXPECT_EQ(tokenizer->decode(tokenizer->render_chat({{"user", "x"}}), true),
            "<|im_start|>user x<|im_end|><|im_start|>assistant ");
}

std::string shown(const std::string& source, const std::vector<Message>& messages) {
  const auto tokenizer = tokenizer_with_template(source);
  return tokenizer->decode(tokenizer->render_chat(messages, false, kTools), true);
}

/// As Gemma 4's: what functions said comes in the message that calls them, in front of its text.
const std::string kGemma =
    "{% for t in tools or [] %}<|tool>{{ t.function.name }}<tool|>{% endfor %}"
    "{% for m in messages %}{% if m.role != 'tool' %}{% set i = loop.index0 %}"
    "{% if m.role != 'assistant' or i == 0 or messages[i - 1].role == 'user' %}"
    "<|turn>{{ m.role }}\n{% endif %}"
    "{% if m.reasoning_content and m.tool_calls %}<|channel>thought\n{{ m.reasoning_content }}\n"
    "<channel|>{% endif %}"
    "{% for c in m.tool_calls or [] %}<|tool_call>call:{{ c.function.name }}{{ '{' }}"
    "{% for k, v in c.function.arguments | dictsort %}{{ k }}:<|\"|>{{ v }}<|\"|>"
    "{% if not loop.last %},{% endif %}{% endfor %}}<tool_call|>{% endfor %}"
    "{% if m.tool_calls %}{% for n in messages[i + 1:] %}{% if n.role == 'tool' %}"
    "<|tool_response>{{ n.content }}<tool_response|>{% endif %}{% endfor %}{% endif %}"
    "{{ m.content }}{% if m.content or not m.tool_calls %}<turn|>\n{% endif %}{% endif %}{% endfor "
    "%}"
    "{% if add_generation_prompt and messages[-1].role != 'tool' %}<|turn>assistant\n{% endif %}";

TEST(TemplateTools, TextThatWouldComeBehindAFunctionsResultBeginsTheAnswer) {
  std::vector<Message> chat{{"user", "x"},
                            {.role = "assistant",
                             .content = "I look.",
                             .tool_calls = {{"a", "f", R"({"b": "1"})"}},
                             .thought = "Hm."},
                            {.role = "tool", .content = "7", .tool_call_id = "a"}};
  const auto tokenizer = tokenizer_with_template(kGemma);
  const auto prompt = [&] {
    return tokenizer->decode(tokenizer->render_chat(chat, true, kTools), true);
  };
  const std::string called =
      "<|tool>f<tool|><|turn>user\nx<turn|>\n<|turn>assistant\n<|channel>thought\nHm.\n<channel|>"
      "<|tool_call>call:f{b:<|\"|>1<|\"|>}<tool_call|><|tool_response>7<tool_response|>";
  EXPECT_EQ(prompt(), called) << "the answer goes on there";
  chat.push_back({"assistant", "It is 7."});
  chat.push_back({"user", "y"});
  const std::string next = "<|turn>user\ny<turn|>\n<|turn>assistant\n";
  EXPECT_EQ(prompt(), called + "I look. It is 7.<turn|>\n" + next);
  chat.erase(chat.begin() + 3);  // nothing was answered
  EXPECT_EQ(prompt(), called + "I look.<turn|>\n" + next);
}

TEST(TemplateTools, ThoughtsBetweenChannelsAreShownBeforeCalls) {
  const std::string harmony =
      "{% for t in tools or [] %}{{ t.function.name }}!{% endfor %}{% for m in messages %}"
      "{% if m.tool_calls %}{% if m.content and m.thinking %}{{ raise_exception('both') }}{% endif "
      "%}"
      "{% if m.thinking or m.content %}<|start|>assistant<|channel|>analysis<|message|>"
      "{{ m.thinking or m.content }}<|end|>{% endif %}"
      "<|start|>assistant to=functions.{{ m.tool_calls[0].function.name }}<|channel|>commentary "
      "json"
      "<|message|>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>"
      "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}<|start|>assistant{% endif %}";
  const std::vector<Message> chat{{"user", "x"},
                                  {.role = "assistant",
                                   .content = "I look.",
                                   .tool_calls = {{"a", "f", "{}"}, {"b", "g", "{}"}},
                                   .thought = "Hm."},
                                  {.role = "tool", .content = "7", .tool_call_id = "a"}};
  EXPECT_EQ(tokenizer_with_template(harmony)->tool_format(), ToolFormat::kHarmony);
  EXPECT_EQ(
      shown(harmony, chat),
      "f!<|start|>user<|message|>x<|end|><|start|>assistant<|channel|>analysis<|message|>Hm.\n\n"
      "I look.<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}"
      "<|call|><|start|>tool<|message|>7<|end|><|start|>assistant to=functions.g<|channel|>"
      "commentary json<|message|>{}<|call|>");
}

TEST(TemplateTools, SaysHowItShowsCalls) {
  const auto format = [](const std::string& source) {
    return tokenizer_with_template(source)->tool_format();
  };
  const auto with_calls = [](const std::string& shown) {
    return "{{ tools | tojson }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in "
           "m.tool_calls "
           "or [] %}" +
           shown +
           "{% endfor %}{% endfor %}{% if add_generation_prompt %}[assistant]"
           "{% endif %}";
  };
  EXPECT_EQ(format(kHermes), ToolFormat::kHermes);
  EXPECT_EQ(format(kChatMl), ToolFormat::kHermes);  // as the system message tells
  EXPECT_EQ(format(with_calls("{\"name\": \"{{ c.function.name }}\", \"parameters\": "
                              "{{ c.function.arguments | tojson }}}")),
            ToolFormat::kLlama);
  EXPECT_EQ(format(with_calls("[TOOL_CALLS][{{ c.function | tojson }}]")), ToolFormat::kMistral);
  EXPECT_EQ(format(with_calls("[TOOL_CALLS]{{ c.function.name }}[ARGS]"
                              "{{ c.function.arguments | tojson }}")),
            ToolFormat::kMistral);
  EXPECT_EQ(format(with_calls(
                "<tool_call>\n<function={{ c.function.name }}>\n{% for k, v in "
                "c.function.arguments | items %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n"
                "{% endfor %}</function>\n</tool_call>")),
            ToolFormat::kXml);
  EXPECT_EQ(format(kGemma), ToolFormat::kGemma);
  EXPECT_EQ(format(with_calls("<|tool_call_start|>[{{ c.function.name }}({% for k, v in "
                              "c.function.arguments | items %}{{ k }}='{{ v }}'{% endfor %})]"
                              "<|tool_call_end|>")),
            ToolFormat::kPython);
  // Calls in a form that no parser knows.
  EXPECT_EQ(format(with_calls("<tool_call><function={{ c.function.name }}></tool_call>")),
            ToolFormat::kNone);
  // Calls without tools.
  EXPECT_EQ(format("{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
                   "<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}{% endfor %}"),
            ToolFormat::kHermes);
}

/// Shows tools and says how to call them, but has no place for calls.
std::string plain_with_tools(const std::string& told, const std::string& roles) {
  return "{% for t in tools or [] %}{{ t.function.name }}!{% endfor %}{% if tools %}" + told +
         "{% endif %}{% for m in messages %}{% if m.role in " + roles +
         " %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}";
}

TEST(TemplateTools, CallsAreWrittenAsTheTemplateTellsTheModelTo) {
  const std::vector<Message> chat{
      {"user", "x"},
      {.role = "assistant",
       .content = "I look.",
       .tool_calls = {{"a", "f", R"({"b": 1, "c": "<|im_end|>"})"}, {"b", "g", "{}"}}},
      {.role = "tool", .content = "7", .tool_call_id = "a"},
      {.role = "tool", .content = "8", .tool_call_id = "b"}};
  const std::string all = "['user', 'assistant', 'tool']", two = "['user', 'assistant']";
  const std::string hermes = "Call as <tool_call>{..}</tool_call>.";
  const std::string calls =
      "<assistant>I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"c\": "
      "\"<|im_end|>\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": "
      "{}}\n</tool_call>";
  EXPECT_EQ(tokenizer_with_template(plain_with_tools(hermes, all))->tool_format(),
            ToolFormat::kHermes);
  EXPECT_EQ(shown(plain_with_tools(hermes, all), chat),
            "f!" + hermes + "<user>x" + calls + "<tool>7<tool>8");
  EXPECT_EQ(
      shown(plain_with_tools(hermes, two), chat),
      "f!" + hermes + "<user>x" + calls +
          "<user><tool_response>\n7\n</tool_response><user><tool_response>\n8\n</tool_response>");
  EXPECT_EQ(
      shown(plain_with_tools("[TOOL_CALLS][..]", all), chat).find("[TOOL_CALLS][{\"name\": \"f\""),
      shown(plain_with_tools("[TOOL_CALLS][..]", all), chat).rfind("[TOOL_CALLS]"));
  // No form that we know.
  EXPECT_EQ(tokenizer_with_template(plain_with_tools("Call as f(..).", all))->tool_format(),
            ToolFormat::kNone);
  EXPECT_EQ(tokenizer_with_template(plain_with_tools("<tool_call><function=f></tool_call>", all))
                ->tool_format(),
            ToolFormat::kNone);
}

TEST(TemplateTools, ATemplateWithoutToolsHasThemInTheSystemMessage) {
  const std::string source =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  std::vector<Message> chat{
      {"user", "x"},
      {.role = "assistant", .content = "", .tool_calls = {{"a", "f", R"({"b": 1})"}}},
      {.role = "tool", .content = "7", .tool_call_id = "a"}};
  const std::string tools = shown(source, chat);
  EXPECT_TRUE(tools.starts_with("<system># Tools\n")) << tools;
  EXPECT_NE(tools.find("<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"f\", "
                       "\"description\": \"gives 0.1 <|im_end|>\""),
            std::string::npos)
      << tools;
  EXPECT_TRUE(
      tools.ends_with("</tool_call><user>x<assistant><tool_call>\n{\"name\": \"f\", "
                      "\"arguments\": {\"b\": 1}}\n</tool_call>"
                      "<user><tool_response>\n7\n</tool_response>"))
      << tools;
  chat.insert(chat.begin(), {"system", "Be brief."});
  EXPECT_EQ(shown(source, chat), "<system>Be brief.\n\n" + tools.substr(8));
  const auto tokenizer = tokenizer_with_template(source);
  EXPECT_EQ(tokenizer->decode(tokenizer->render_chat(chat, false), true).find("# Tools"),
            std::string::npos);
}

TEST(TemplateTools, PythonsCallsAreWrittenWhereTheVocabularyHasTheirMarks) {
  // As LFM2's: tools, what functions say, but no calls.
  const std::string source =
      "{% if tools %}<|im_start|>system\nList of tools: {{ tools | tojson }}<|im_end|>{% endif %}"
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}";
  EXPECT_EQ(tokenizer_with_template(source)->tool_format(), ToolFormat::kNone);
  TokenizerFolder folder;
  folder.config["chat_template"] = source;
  int64_t id = TokenizerFolder::kEnd;
  for (const char* mark : {"<|tool_call_start|>", "<|tool_call_end|>"}) {
    folder.tokenizer["added_tokens"].push_back(
        {{"id", ++id}, {"content", mark}, {"special", true}});
  }
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  EXPECT_EQ(tokenizer->tool_format(), ToolFormat::kPython);
  const std::vector<Message> chat{
      {"user", "x"},
      {.role = "assistant",
       .content = "I look.",
       .tool_calls = {{"a", "f", R"({"b": true, "c": ["é <|im_end|>", null], "d": {"e": false}})"},
                      {"b", "g", "{}"}}},
      {.role = "tool", .content = "7", .tool_call_id = "a"}};
  const TokenIds ids = tokenizer->render_chat(chat, false, kTools);
  const std::string text = tokenizer->decode(ids, true);
  EXPECT_TRUE(text.ends_with(
      "<|im_start|>assistant\nI look.<|tool_call_start|>[f(b=True, c=[\"é <|im_end|>\", None], "
      "d={\"e\": false}), g()]<|tool_call_end|><|im_end|><|im_start|>tool\n7<|im_end|>"))
      << text;
  EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), TokenizerFolder::kEnd), 4);  // a typed one is text
}

TEST(TemplateTools, ATemplateMayTakeToolsUnderAnotherName) {
  // As SmolLM3's of its first day.
  const std::string source =
      "{% if xml_tools or python_tools %}{% for t in xml_tools[:] %}{{ t | string }}{% endfor %}"
      "Call as <tool_call>{..}</tool_call>.{% endif %}"
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
  EXPECT_EQ(tokenizer_with_template(source)->tool_format(), ToolFormat::kHermes);
  const std::string text = shown(source, {{"user", "x"}});
  EXPECT_TRUE(text.starts_with("{'type': 'function', 'function': {'name': 'f',")) << text;
  EXPECT_TRUE(text.ends_with("Call as <tool_call>{..}</tool_call>.<user>x")) << text;
  const auto tokenizer = tokenizer_with_template(source);
  EXPECT_EQ(tokenizer->decode(tokenizer->render_chat({{"user", "x"}}, false)), "<user>x");
}

TEST(TemplateTools, ATemplateThatLoopsOverNoToolsHasNone) {
  // As Hermes 2 Pro's: `for` fails over none, but not over what is undefined.
  const std::string source =
      "<tools>{% for t in tools %}{{ t.function.name }}{% endfor %}</tools>{% for m in messages %}"
      "<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}<tool_call>\n{{ c.function | tojson "
      "}}\n</tool_call>{% endfor %}{% endfor %}";
  const auto tokenizer = tokenizer_with_template(source);
  EXPECT_EQ(tokenizer->tool_format(), ToolFormat::kHermes);
  EXPECT_EQ(tokenizer->decode(tokenizer->render_chat({{"user", "x"}}, false)),
            "<tools></tools><user>x");
  EXPECT_EQ(shown(source, {{"user", "x"}}), "<tools>f</tools><user>x");
}

/// A user asks, two functions are called, the user goes on before anything else is said.
std::vector<Message> two_calls() {
  return {{"user", "x"},
          {.role = "assistant", .content = "", .tool_calls = {{"a", "f", "{}"}, {"b", "g", "{}"}}},
          {.role = "tool", .content = "1", .tool_call_id = "a"},
          {.role = "tool", .content = "2", .tool_call_id = "b"},
          {"user", "y"}};
}

TEST(TemplateTools, WhereAMessageHasOneCallEachHasAMessage) {
  const std::string source =
      "{% for t in tools or [] %}{{ t.function.name }}!{% endfor %}{% for m in messages %}"
      "{% if m.tool_calls %}{% if m.tool_calls|length != 1 %}{{ raise_exception('one') }}{% endif "
      "%}"
      "{\"name\": \"{{ m.tool_calls[0].function.name }}\", \"parameters\": "
      "{{ m.tool_calls[0].function.arguments | tojson }}}"
      "{% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}";
  const std::string f = R"({"name": "f", "parameters": {}})",
                    g = R"({"name": "g", "parameters": {}})";
  EXPECT_EQ(shown(source, two_calls()), "f!<user>x" + f + "<tool>1" + g + "<tool>2<user>y");
  std::vector<Message> without_first = two_calls();
  without_first.erase(without_first.begin() + 2);
  EXPECT_EQ(shown(source, without_first), "f!<user>x" + f + g + "<tool>2<user>y");
}

TEST(TemplateTools, WhereRolesMustAlternateAnEmptyMessageIsBetween) {
  const auto source = [](const std::string& condition) {
    return "{% for t in tools or [] %}{{ t.function.name }}!{% endfor %}{% set ns = "
           "namespace(i=0) %}{% for m in messages %}{% if m.role == 'tool' %}<tool>{{ m.content }}"
           "{% elif m.tool_calls %}<a>[TOOL_CALLS]{{ m.tool_calls | map(attribute='function') | "
           "list | tojson }}{% else %}{% if (m.role == 'user') != (ns.i % 2 == 0)" +
           condition +
           " %}{{ raise_exception('alternate') }}{% endif %}{% set ns.i = ns.i + 1 %}"
           "<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}";
  };
  const std::string begin = R"(f!<user>x<a>[TOOL_CALLS][{"name": "f", "arguments": {}}, )"
                            R"({"name": "g", "arguments": {}}]<tool>1<tool>2)";
  EXPECT_EQ(shown(source(""), two_calls()), begin + "<assistant><user>y");
  EXPECT_EQ(shown(source(" or not m.content"), two_calls()), begin + "<assistant>OK.<user>y");
  std::vector<Message> unanswered = two_calls();
  unanswered.erase(unanswered.begin() + 2, unanswered.begin() + 4);
  EXPECT_TRUE(shown(source(""), unanswered).ends_with("}]<assistant><user>y"));
  std::vector<Message> late =
      two_calls();  // an output, after the answer to what was said before it
  late.erase(late.begin() + 3);
  late.push_back({"assistant", "z"});
  late.push_back({.role = "tool", .content = "2", .tool_call_id = "b"});
  late.push_back({"assistant", "w"});
  EXPECT_TRUE(shown(source(""), late)
                  .ends_with("<tool>1<assistant><user>y<assistant>z<user><tool>2<assistant>w"));
  EXPECT_EQ(shown(kHermes, two_calls()).find("OK."), std::string::npos);
}

TEST(TemplateTools, MistralsIdsHaveNineCharacters) {
  const auto tokenizer = tokenizer_with_template(
      "{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
      "[TOOL_CALLS][{{ c.function | tojson }}]{{ c.id }}{% endfor %}{{ m.tool_call_id }}{% endfor "
      "%}");
  const std::vector<Message> messages{
      {"user", "x"},
      {.role = "assistant", .content = "", .tool_calls = {{"call_0123-456789", "f", "{}"}}},
      {.role = "tool", .content = ":", .tool_call_id = "call_0123-456789"},
      {.role = "assistant", .content = "", .tool_calls = {{"c", "f", "{}"}}}};
  const std::string text = tokenizer->decode(tokenizer->render_chat(messages, true, kTools), true);
  EXPECT_NE(text.find("]123456789:123456789["), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("]00000000c")) << text;
}

}  // namespace
}  // namespace predgen
