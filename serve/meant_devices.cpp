#include "serve/meant_devices.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "text/words.h"

namespace predgen::serve {
namespace {

using Words = std::vector<std::string>;

/// The names of devices and areas that are said whole, and the words that are part of none.
class SaidNames {
 public:
  SaidNames(const std::string& text, const std::vector<HomeDevice>& home)
      : words_(list_bare_words(text)), is_named_(words_.size()) {
    Words names;
    for (const HomeDevice& device : home) {
      if (!only_tells(device.domain)) {
        names.insert(names.end(), device.names.begin(), device.names.end());
      }
      names.insert(names.end(), device.areas.begin(), device.areas.end());
    }
    // "Kitchen Light" is that, not a light in the kitchen.
    std::ranges::stable_sort(names, std::ranges::greater{},
                             [](const std::string& name) { return list_bare_words(name).size(); });
    for (const std::string& name : names) mark(name);
  }

  bool is_empty() const { return said_.empty(); }
  bool has(const std::string& name) const { return std::ranges::count(said_, name) > 0; }
  bool has_any(const Words& names) const {
    return std::ranges::any_of(names, [this](const std::string& name) { return has(name); });
  }

  /// The words that are in none of these names.
  Words others() const {
    Words others;
    for (size_t i = 0; i < words_.size(); ++i) {
      if (!is_named_[i]) others.push_back(words_[i]);
    }
    return others;
  }

 private:
  void mark(const std::string& name) {
    if (has(name)) return;
    const Words wanted = list_bare_words(name);
    if (wanted.empty()) return;
    for (size_t at = 0; at + wanted.size() <= words_.size(); ++at) {
      const auto named = std::span(is_named_).subspan(at, wanted.size());
      if (!std::ranges::equal(wanted, std::span(words_).subspan(at, wanted.size())) ||
          std::ranges::count(named, true) > 0) {
        continue;
      }
      std::ranges::fill(named, char{true});
      said_.push_back(name);
    }
  }

  Words words_, said_{};
  std::vector<char> is_named_;  // each word: whether it is part of a name that is said
};

/// Whether one of two words is the other with an ending, as "lamps" and "lamp".
bool is_alike(const std::string& one, const std::string& other) {
  constexpr size_t kShortest = 3, kEnding = 2;  // bytes
  const auto& [shorter, longer] =
      std::minmax(one, other, [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return shorter.size() >= kShortest && longer.size() - shorter.size() <= kEnding &&
         longer.starts_with(shorter);
}

bool is_plural(const std::string& word, const std::string& domain) {
  return !domain.empty() && (word == domain + "s" || word == domain + "es");
}

/// Whether a word is of a device's names or of its domain.
bool is_of(const std::string& word, const HomeDevice& device) {
  const auto has_word = [&](const std::string& name) {
    return std::ranges::any_of(list_bare_words(name),
                               [&](const std::string& part) { return is_alike(word, part); });
  };
  if (std::ranges::any_of(device.names, has_word)) return true;
  // One switches everything.
  return device.domain == "switch" ? is_plural(word, device.domain) : has_word(device.domain);
}

}  // namespace

MeantDevices meant_by(const std::string& words, const std::vector<HomeDevice>& home) {
  const SaidNames said(words, home);
  MeantDevices meant;
  const auto may_be_area = [&](const std::string& area) {
    return (said.is_empty() || said.has(area)) && std::ranges::count(meant.areas, area) == 0;
  };
  for (const HomeDevice& device : home) {
    std::ranges::copy_if(device.areas, std::back_inserter(meant.areas), may_be_area);
  }
  if (said.is_empty()) {
    meant.devices = home;
    return meant;
  }
  std::vector<bool> is_meant(home.size());
  Words kinds,
      narrowed;  // domains in these areas: whose plural is said, of whose devices a word is
  bool says_more = false;
  for (const std::string& word : said.others()) {
    std::vector<size_t> elsewhere;
    bool is_here = false, is_kind = false;
    for (size_t i = 0; i < home.size(); ++i) {
      const HomeDevice& device = home[i];
      if (!is_of(word, device)) continue;
      if (!said.has_any(device.areas)) {
        elsewhere.push_back(i);
        continue;
      }
      is_here = is_meant[i] = true;
      is_kind = is_kind || is_plural(word, device.domain);
      (is_plural(word, device.domain) ? kinds : narrowed).push_back(device.domain);
    }
    says_more = says_more || (!is_kind && (is_here || !elsewhere.empty()));
    if (is_here) continue;
    for (const size_t i : elsewhere) is_meant[i] = true;
  }
  const auto is_said = [&](const HomeDevice& device) {
    return !only_tells(device.domain) && said.has_any(device.names);
  };
  /// Said, and not only to tell where a device of that name is.
  const auto is_whole = [&](const std::string& area) {
    return said.has(area) && std::ranges::none_of(home, [&](const HomeDevice& device) {
             return is_said(device) && std::ranges::count(device.areas, area) > 0;
           });
  };
  meant.is_kind = !kinds.empty() && !says_more && std::ranges::none_of(home, is_said);
  for (size_t i = 0; i < home.size(); ++i) {
    const HomeDevice& device = home[i];
    const bool is_there = kinds.empty() && std::ranges::count(narrowed, device.domain) == 0 &&
                          std::ranges::any_of(device.areas, is_whole);
    if (is_meant[i] || is_said(device) || is_there) meant.devices.push_back(device);
  }
  return meant;
}

}  // namespace predgen::serve
