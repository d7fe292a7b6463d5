#include "core/trace/reader.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>

#include "core/base/guarded.hpp"
#include "core/base/quoted_for_message.hpp"
#include "core/trace/formats/all.hpp"
#include "core/trace/text.hpp"

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

// The error of a file without requests, which a caller with several files may leave out.
absl::Status no_requests(std::string_view text) {
  return absl::AbortedError({text.data(), text.size()});
}

bool is_utf16(const Head& head) {
  return head.bytes.starts_with("\xff\xfe") || head.bytes.starts_with("\xfe\xff");
}

}  // namespace

absl::Status RequestReader::next(Requests& chunk) {
  if (!failed_.ok()) chunk.clear();
  MCSIM_RETURN_IF_ERROR(failed_);
  absl::Status status = guarded(context_.name, [&] { return read(chunk); });
  if (absl::IsResourceExhausted(status)) {
    failed_ = status;
    chunk = {};  // its columns may differ in length after the error
  } else if (context_.is_live && chunk.size() > 0) {
    failed_ = std::exchange(status, absl::OkStatus());
  } else {
    failed_ = status;
  }
  return status;
}

absl::Status RequestReader::read(Requests& chunk) {
  chunk.clear();
  // Expects a file that was long so far to continue; a short file needs no reserved memory.
  chunk.reserve(std::min(full_chunk(), static_cast<std::size_t>(requests_)));
  MCSIM_RETURN_IF_ERROR(fill(chunk));
  requests_ += static_cast<Count>(chunk.size());
  if (requests_ > 0) return absl::OkStatus();
  is_empty_ = rows_.skipped == 0;
  std::string why;
  if (rows_.skipped > 0) why += fmt::format(" ({} unreadable rows skipped)", rows_.skipped);
  if (rows_.filtered > 0) why += fmt::format(" ({} rows filtered)", rows_.filtered);
  if (!other_events_.empty()) why += fmt::format("; event={} reads others", other_events_[0]);
  const std::string prefix = context_.name.empty() ? "" : context_.name + ": ";
  const std::string text = fmt::format("{}there are no requests in it{}", prefix, why);
  return is_empty_ ? no_requests(text) : absl::DataLossError(text);
}

absl::StatusOr<VmId> RequestReader::vm_of(std::string_view name) {
  const std::uint64_t number = vms_.id_of(name);
  if (number >= kMostVms) return data_loss("more than {} VMs", kMostVms);
  return static_cast<VmId>(number);
}

std::string RequestReader::place(Count number) const {
  static constexpr std::array kUnits{"line", "record", "row"};
  const char* const unit = kUnits[static_cast<std::size_t>(unit_)];
  if (context_.name.empty()) return fmt::format("{} {}", unit, number);
  if (unit_ == RecordUnit::kLine) return fmt::format("{}:{}", context_.name, number);
  return fmt::format("{}: {} {}", context_.name, unit, number);
}

absl::Status RequestReader::reject(Count number, const std::string& complaint) {
  const std::string text = fmt::format("{}: {}", place(number), complaint);
  if (context_.on_bad_line == OnBadLine::kError) return absl::DataLossError(text);
  constexpr std::size_t kShown = 5;
  ++rows_.skipped;
  if (rows_.complaints.size() < kShown) rows_.complaints.push_back(text);
  return absl::OkStatus();
}

absl::Status RequestReader::out_of_order(Count number, Nanoseconds at) {
  if (context_.on_unsorted == OnUnsorted::kError) {
    return data_loss("{}: time goes back from {} to {} (on_unsorted: sort puts requests in order)",
                     place(number), last_time_, at);
  }
  unsorted_ = true;
  last_time_ = at;
  return absl::OkStatus();
}

Guess guess_by_trial(std::string format, Fit fit, RequestReader& reader, bool more) {
  constexpr std::size_t kEnough = 4;
  Requests chunk;
  const absl::Status status = reader.next(chunk);
  if (chunk.size() >= kEnough || status.ok()) return {std::move(format), fit, ""};
  if (absl::IsResourceExhausted(status)) {
    return {std::move(format), Fit::kNo, "", 0, status};
  }
  if (reader.is_empty() && more) return {std::move(format), Fit::kUnopposed, ""};
  // If the columns are there and the mapping is incomplete, opening the file reports what is
  // missing.
  const bool is_mapped = fit == Fit::kPossible && absl::IsInvalidArgument(status);
  if (is_mapped || reader.has_known_names()) return {std::move(format), fit, ""};
  return {std::move(format), Fit::kNo, message_of(status), chunk.size()};
}

namespace {

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
  if (head.bytes.empty()) return no_requests(fmt::format("{}: the file is empty", path));
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

std::string vm_name_of(std::string_view path) {
  const std::string_view file = path.substr(path.find_last_of('/') + 1);
  const std::string_view name = file.substr(0, file.find('.', 1));
  return is_vm_name(name) ? std::string(name) : quoted_for_message(name);
}

}  // namespace mcsim
