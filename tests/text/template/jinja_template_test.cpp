#include "text/template/jinja_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

std::string render(const std::string& source, const Json& variables = Json::object()) {
  std::tm day{};
  day.tm_year = 124, day.tm_mon = 6, day.tm_mday = 26;
  jinja::Budget budget;
  return JinjaTemplate(source, "here").render(variables, day, budget);
}

TEST(JinjaTemplate, WhiteSpaceOfBlocksAsInTransformers) {
  EXPECT_EQ(render("a{% if true %}\nb\n  {% endif %}\nc\n"), "ab\nc");
  EXPECT_EQ(render("  {% if true %}\n {{ 'b' }}\n{% endif %}"), " b\n");
  EXPECT_EQ(render("a \n{%- if true -%}\n b\n {%- endif %} c\n\n"), "ab c\n");
  EXPECT_EQ(render("a{# comment #}\n{{- ' b' -}}\n c"), "a bc");
}

TEST(JinjaTemplate, HasWhatChatTemplatesUse) {
  const Json letters = {{"letters", {"a", "b", "c", "d"}}};
  EXPECT_EQ(
      render("{% set ns = namespace(n=0) %}{% for x in letters %}{% if x == 'b' %}{% continue "
             "%}{% endif %}{% if x == 'd' %}{% break %}{% endif %}{% set ns.n = ns.n + 1 %}"
             "{{ x ~ loop.index0 }}{% endfor %}{{ ns.n }}",
             letters),
      "a0c22");
  EXPECT_EQ(
      render("{{ letters[1:] | tojson }}{{ letters[::-1] | join('') }}{{ letters[-1] }}", letters),
      "[\"b\", \"c\", \"d\"]dcbad");
  EXPECT_EQ(render("{% macro f(x, y='!') %}{{ x | upper }}{{ y }}{% endmacro %}{{ f('a') }}"),
            "A!");
  EXPECT_EQ(render("{{ ' a ' | trim }}{{ ' b '.strip() }}{{ 'c--'.rstrip('-') }}"), "abc");
  EXPECT_EQ(render("{{ 'x</t>y'.split('</t>')[-1] if '</t>' in 'x</t>y' else 'z' }}"), "y");
  EXPECT_EQ(render("{{ 'y' if nothing is defined else 'n' }}{{ none is none }}"), "nTrue");
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') if strftime_now is defined }}"), "26 Jul 2024");
  EXPECT_EQ(render("{% generation %}a{% endgeneration %}"), "a");
}

TEST(JinjaTemplate, StripsAsPythonDoes) {
  const auto strip = [](const std::string& text, const char* how = " | trim") {
    return render(fmt::format("{{{{ x{} }}}}", how), {{"x", text}});
  };
  for (const char* space :
       {" ", "\n", "\t", "\r", "\v", "\f", "\x1c", "\x1f", "\u0085", "\u00a0", "\u1680", "\u2000",
        "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"}) {
    const std::string twice = fmt::format("{}{}", space, space);
    EXPECT_EQ(strip(twice + "a" + twice + "\u00e9" + twice), "a" + twice + "\u00e9");
    EXPECT_EQ(strip(twice + "a" + twice, ".lstrip()"), "a" + twice);
    EXPECT_EQ(strip(twice + "a" + twice, ".rstrip()"), twice + "a");
    EXPECT_EQ(strip(twice), "");
  }
  for (const char* kept :
       {"\u200b", "\u180e", "\ufeff", "\x01", "\u0301", "\xFF\xBC", "\xA0", "\xE3\x80"}) {
    EXPECT_EQ(strip(fmt::format(" {} ", kept)), kept);
  }
  EXPECT_EQ(strip("--a ", " | trim('-')"), "a ");
}

TEST(JinjaTemplate, ErrorsAreOneLineWithThePlace) {
  const auto fails = [](const std::string& source, const std::vector<std::string>& parts) {
    try {
      render(source);
      ADD_FAILURE() << source << " renders";
    } catch (const UserError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_TRUE(message.starts_with("here: ")) << message;
      for (const std::string& part : parts) {
        EXPECT_NE(message.find(part), std::string::npos) << message;
      }
    }
  };
  fails("a\n  {{ 'x' | nonsense }}", {"line 2", "nonsense"});
  fails("a\n{{ 'x' ", {});
  fails("{% frobnicate %}", {"frobnicate"});
  fails("{{ missing() }}", {"line 1"});
  EXPECT_THROW(render("{{ raise_exception('no ' ~ 'tools') }}"), TemplateRaised);
  expect_user_error([&] { render("{{ raise_exception('no ' ~ 'tools') }}"); },
                    {"here says: no tools"});
}

TEST(JinjaTemplate, EndlessAndHugeTemplatesFail) {
  const auto fails = [](const std::string& source, const std::string& part, int ms = 60'000) {
    jinja::Budget budget({.time = std::chrono::milliseconds(ms)});
    const Json none = Json::object();
    try {
      JinjaTemplate(source, "here").render(none, std::tm{}, budget);
      ADD_FAILURE() << source << " renders";
    } catch (const UserError& error) {
      EXPECT_THAT(std::string(error.what()),
                  testing::AllOf(testing::StartsWith("here: "), testing::HasSubstr(part)));
    }
  };
  fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested too deep");
  fails("{% for i in range(9999999999) %}{% endfor %}", "100000");
  fails("{{ 'x' * 9999999999 }}", "8 MiB");
  fails("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "longer than 100 ms", 100);
  fails(
      "{% set n = namespace(x='ab') %}{% for i in range(50) %}{% set n.x = n.x ~ n.x %}{% endfor "
      "%}",
      "8 MiB");
  fails("{% set n = namespace(x=[]) %}{% for i in range(200) %}{% set n.x = [n.x] %}{% endfor %}",
        "nested too deep");
  fails("{% set x = [] %}{{ x.append([x]) }}", "append");
  std::string doubled = "{% set x = [1] %}";  // 2^60 numbers in 60 lists
  for (int i = 0; i < 60; ++i) doubled += "{% set x = [x, x] %}";
  for (const char* use : {"{{ x }}", "{{ x | string }}", "{{ x | tojson }}"}) {
    fails(doubled + use, "here: line 1: it ", 100);
  }
  fails(
      "{% set n = namespace(x='a', l=[]) %}{% for i in range(20) %}{% set n.x = n.x * 2 %}"
      "{% endfor %}{% for i in range(999) %}{% set n.l = n.l + [n.x ~ i] %}{% endfor %}",
      "96 MiB of memory");
  fails("{{ 'a\nb' | indent(9999999999) }}", "8 MiB");
  fails("{{ " + std::string(1000, '(') + "1" + std::string(1000, ')') + " }}", "nested too deep");
  fails(
      "{{ 1" +
          [] {
            std::string sum;
            for (int i = 0; i < 5000; ++i) sum += " + 1";
            return sum;
          }() +
          " }}",
      "too long or nested too deep");
  fails(std::string(2 << 20, 'x'), "longer than 1 MiB");
  fails("{{ 1 is divisibleby(0) }}", "division by zero");
  EXPECT_EQ(render("{{ range(0, 9223372036854775807, 9223372036854775806)|length }}"), "2");
  EXPECT_EQ(render("{{ [1, 2, 3][1::-9223372036854775807] }}"), "[2]");
  EXPECT_EQ(render("{{ (-9223372036854775807 - 1) is divisibleby(-1) }}"), "True");
}

TEST(JinjaTemplate, LongConversationsAreWithinTheLimits) {
  Json messages = Json::array();
  for (int i = 0; i < 1000; ++i) {
    messages.push_back({{"role", "user"}, {"content", std::string(5000, 'x')}});
  }
  const JinjaTemplate chat(
      "{% for m in messages %}{% if loop.first and messages[0]['role'] == 'system' %}x{% endif %}"
      "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] | trim + '<|im_end|>' + '\\n' }}"
      "{% endfor %}",
      "here");
  jinja::Budget budget;
  EXPECT_GT(chat.render({{"messages", messages}}, std::tm{}, budget).size(), 5'000'000);
}

TEST(JinjaTemplate, SeveralThreadsMayRender) {
  const JinjaTemplate shared("{% set x = n %}{% for i in range(n) %}{{ i }}{% endfor %}{{ x }}",
                             "here");
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      jinja::Budget budget;
      for (int i = 0; i < 100; ++i) results[t] = shared.render({{"n", t}}, std::tm{}, budget);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<std::string>{"0", "01", "012", "0123"}));
}

}  // namespace
}  // namespace predgen
