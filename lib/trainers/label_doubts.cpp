#include "trainers/label_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "text/unicode.h"

namespace bert {
namespace {

constexpr size_t kShown = 5;  // labels, or groups of them, in a sentence

/// A list that says how many of its items it does not show.
std::string list(const std::vector<std::string>& items) {
  const auto end = items.begin() + static_cast<ptrdiff_t>(std::min(kShown, items.size()));
  std::string text;
  for (auto item = items.begin(); item != end; ++item) {
    text += (text.empty() ? "" : ", ") + *item;
  }
  return items.size() > kShown ? fmt::format("{} and {} more", text, items.size() - kShown) : text;
}

size_t count_of(const LabelUse& use, size_t label) {
  return use.train[label] + (use.dev.empty() ? 0 : use.dev[label]);
}

void add_alike(const LabelUse& use, std::vector<std::string>& lines) {
  std::map<std::string, std::vector<size_t>> alike;
  for (size_t i = 0; i < use.labels.size(); ++i) {
    if (count_of(use, i) > 0) alike[folded(use.labels[i])].push_back(i);
  }
  std::vector<std::string> groups;
  for (const auto& [name, labels] : alike) {
    if (labels.size() < 2) continue;
    std::string group;
    for (const size_t label : labels) {
      group += fmt::format("{}'{}' {}", group.empty() ? "" : " and ", printable(use.labels[label]),
                           count_of(use, label));
    }
    groups.push_back(std::move(group));
  }
  if (!groups.empty()) {
    lines.push_back("labels that differ only in case or blanks count as different ones: " +
                    list(groups));
  }
}

void add_unlearned(const LabelUse& use, std::vector<std::string>& lines) {
  std::vector<std::string> names;
  size_t count = 0;
  for (size_t i = 0; i < use.dev.size(); ++i) {
    if (use.dev[i] == 0 || use.train[i] > 0) continue;
    names.push_back(fmt::format("'{}' {}", printable(use.labels[i]), use.dev[i]));
    count += use.dev[i];
  }
  if (names.empty()) return;
  lines.push_back(fmt::format("{} of {} dev labels occur in no training example: {}", count,
                              std::accumulate(use.dev.begin(), use.dev.end(), size_t{0}),
                              list(names)));
}

size_t used_labels(const LabelUse& use) {
  return static_cast<size_t>(
      std::count_if(use.train.begin(), use.train.end(), [](size_t n) { return n > 0; }));
}

/// Labels that are made of other labels, in a run with one label a text.
void add_joined(const LabelUse& use, std::vector<std::string>& lines) {
  const std::set<std::string_view> known(use.labels.begin(), use.labels.end());
  std::vector<std::string> joined;
  for (size_t i = 0; i < use.labels.size(); ++i) {
    const auto parts = split(use.labels[i], ',');
    const bool made = parts.size() > 1 &&
                      std::all_of(parts.begin(), parts.end(),
                                  [&](std::string_view part) { return known.contains(part); });
    if (made && count_of(use, i) > 0) {
      joined.push_back(fmt::format("'{}' {}", printable(use.labels[i]), count_of(use, i)));
    }
  }
  if (!joined.empty()) {
    lines.push_back("several labels in one count as one label, unless texts may have several: " +
                    list(joined));
  }
}

/// Other separators than commas, in a run with several labels a text.
void add_separators(const LabelUse& use, std::vector<std::string>& lines) {
  std::vector<std::string> odd;
  for (size_t i = 0; i < use.labels.size(); ++i) {
    const std::string& label = use.labels[i];
    const bool blank = label.starts_with(' ') || label.ends_with(' ');
    if (count_of(use, i) > 0 && (blank || label.find_first_of(";|") != std::string::npos)) {
      odd.push_back(fmt::format("'{}' {}", printable(label), count_of(use, i)));
    }
  }
  if (!odd.empty())
    lines.push_back("only commas, without blanks, separate labels; each of these is one label: " +
                    list(odd));
}

}  // namespace

bool may_be_texts(const LabelUse& use) {
  constexpr size_t kFewest = 10;
  const size_t used = used_labels(use);
  return used >= kFewest && 2 * used >= use.texts && use.texts > 0;
}

std::vector<std::string> label_doubts(const LabelUse& use, LabelKind kind) {
  if (kind == LabelKind::one && may_be_texts(use)) {
    return {
        fmt::format("{} texts have {} different labels: if texts stand in the field of the "
                    "label, `fields` and `label_field` say where each stands",
                    use.texts, used_labels(use))};
  }
  std::vector<std::string> lines;
  add_alike(use, lines);
  add_unlearned(use, lines);
  if (kind == LabelKind::several) add_separators(use, lines);
  if (kind == LabelKind::one && use.texts > 0) add_joined(use, lines);
  return lines;
}

}  // namespace bert
