#include "core/trace/formats/open_trace.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <tuple>

#include "core/base/guarded.hpp"
#include "core/base/quoted_for_message.hpp"
#include "core/trace/formats/all.hpp"
#include "core/trace/reading/text.hpp"

namespace mcsim {
namespace {

absl::StatusOr<Head> head_of(const std::string& path) {
  MCSIM_ASSIGN_OR_RETURN(auto source, open_file(path));
  Head head{std::string(Head::kMost, '\0')};
  MCSIM_ASSIGN_OR_RETURN(const std::size_t got, source->read(head.bytes));
  head.bytes.resize(got);
  head.whole = got < Head::kMost;
  return head;
}

bool is_utf16(const Head& head) {
  return head.bytes.starts_with("\xff\xfe") || head.bytes.starts_with("\xfe\xff");
}

// Returns the format with mapped columns that the beginning looks like, "" if there is none.
std::string_view mapped_format(const Head& head) {
  const std::string_view line = std::string_view(head.bytes).substr(0, head.bytes.find('\n'));
  if (line.starts_with('{')) return "jsonl";
  const bool is_header =
      line.find(',') != std::string_view::npos &&
      std::ranges::all_of(line, [](char c) { return c >= ' ' && (c < '0' || c > '9'); });
  return is_header ? "csv" : "";
}

// Returns how far a format could read a file: requests, then whether its columns can be mapped,
// then the column in its objection.
std::tuple<std::size_t, bool, int> reached(const Guess& guess, std::string_view mapped) {
  constexpr std::string_view kColumn = "in column ";
  const std::size_t at = guess.objection.find(kColumn);
  const int column =
      at == std::string::npos ? 0 : std::atoi(guess.objection.c_str() + at + kColumn.size());
  return {guess.requests, guess.format == mapped, column};
}

absl::Status unknown_format(const std::string& name, const Head& head,
                            std::span<const Guess> guesses) {
  constexpr int kLines = 3;
  std::string begin;
  std::string_view rest = head.bytes;
  for (int i = 0; i < kLines && !rest.empty(); ++i) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    begin += "\n    " + quoted_for_message(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const Guess& nearest = *std::ranges::max_element(
      guesses, {}, [&](const Guess& guess) { return reached(guess, mapped_format(head)); });
  return data_loss(
      "{}: no known trace format. It begins:{}\nThe nearest format is {}: {}.\n"
      "mcsim trace map {} proposes which column is what",
      name, begin, nearest.format, nearest.objection, name);
}

// Keeps the guesses that read most records before their objection.
void keep_farthest(std::vector<const Guess*>& candidates) {
  const std::size_t most = std::ranges::max(candidates, {}, &Guess::requests)->requests;
  std::erase_if(candidates, [&](const Guess* guess) { return guess->requests < most; });
}

// Lists the formats of records that got farthest, with their objections.
std::string failures_text(std::span<const Guess> guesses) {
  constexpr std::size_t kShown = 4;
  std::vector<const Guess*> failed;
  for (const Guess& guess : guesses) {
    const bool has_records = guess.requests > 0 || guess.objection.starts_with("record ");
    if (has_records && guess.fit == Fit::kNo) failed.push_back(&guess);
  }
  std::ranges::stable_sort(failed, std::greater{}, &Guess::requests);
  std::vector<std::string> texts;
  for (const Guess* guess : failed) {
    if (texts.size() == kShown) break;
    texts.push_back(fmt::format("{} failed: {}", guess->format, guess->objection));
  }
  if (failed.size() > kShown) {
    texts.push_back(fmt::format("{} others no later", failed.size() - kShown));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

absl::StatusOr<DetectedFormat> decide(const std::string& name, const Head& head,
                                      std::span<const Guess> guesses) {
  const Fit best = std::ranges::max(guesses, {}, &Guess::fit).fit;
  std::vector<const Guess*> candidates;
  for (const Guess& guess : guesses) {
    MCSIM_RETURN_IF_ERROR(guess.exhausted);
    if (guess.fit == best) candidates.push_back(&guess);
  }
  if (best == Fit::kNo) return unknown_format(name, head, guesses);
  if (best == Fit::kPartial) keep_farthest(candidates);
  if (candidates.size() > 1 || best == Fit::kUncertain) {
    std::vector<std::string> texts;
    for (const Guess* guess : candidates) {
      texts.push_back(guess->format);
      if (!guess->objection.empty()) texts.back() += fmt::format(" ({})", guess->objection);
    }
    return data_loss("{}: could be {}; state the format", name, fmt::join(texts, " or "));
  }
  const Guess& found = *candidates.front();
  DetectedFormat format{found.format, "", found.needs_order};
  if (best == Fit::kIntegers) {
    format.note = fmt::format("read as integers, {}, because no other format fits ({})",
                              found.format, failures_text(guesses));
  } else if (best == Fit::kPartial) {
    format.note =
        fmt::format("read as {}, which fits its first {} records", found.format, found.requests);
  }
  return format;
}

namespace {

absl::StatusOr<DetectedFormat> format_of(const std::string& path, const Head& head) {
  if (head.bytes.empty()) return absl::AbortedError(fmt::format("{}: the file is empty", path));
  if (is_utf16(head)) {
    return data_loss(
        "{}: this is text in UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8 converts)", path);
  }
  const std::string packed = is_text(head.bytes) ? "" : objection_to_packed(head.bytes);
  if (!packed.empty()) return data_loss("{}: {}", path, packed);
  auto format = decide(path, head, guess_all(head));
  if (format.ok() || absl::IsResourceExhausted(format.status())) return format;
  const std::size_t line = head.bytes.find('\n');
  if (line == std::string::npos) return format;
  const Head rest{.bytes = head.bytes.substr(line + 1), .whole = head.whole};
  const auto behind = decide(path, rest, guess_all(rest));
  if (absl::IsResourceExhausted(behind.status())) return behind;
  if (!behind.ok() || !is_text(head.bytes)) return format;
  return data_loss(
      "{}:1: '{}' is a header, which the format {} of what follows does not have: remove it, or "
      "state the format with on_bad_line: skip",
      path, quoted_for_message(head.bytes.substr(0, line)), behind->name);
}

}  // namespace

absl::StatusOr<DetectedFormat> detect_format(const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<DetectedFormat> {
    MCSIM_ASSIGN_OR_RETURN(const Head head, head_of(path));
    return format_of(path, head);
  });
}

absl::StatusOr<DetectedFormat> detect_format(const std::string& name, const Head& head) {
  return guarded(name, [&] { return format_of(name, head); });
}

absl::StatusOr<std::unique_ptr<RequestReader>> open_trace(const std::string& path,
                                                          const ReadOptions& options) {
  return guarded(path, [&]() -> absl::StatusOr<std::unique_ptr<RequestReader>> {
    std::string format = options.format;
    if (format.empty()) {
      MCSIM_ASSIGN_OR_RETURN(const DetectedFormat detected, detect_format(path));
      format = detected.name;
    }
    MCSIM_ASSIGN_OR_RETURN(auto source, open_file(path));
    return formats().make(format, options.params,
                          ReaderContext{.source = std::move(source),
                                        .name = path,
                                        .vm_name = vm_name_of(path),
                                        .on_bad_line = options.on_bad_line,
                                        .on_unsorted = options.on_unsorted});
  });
}

}  // namespace mcsim
