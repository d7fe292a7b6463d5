#include "core/trace/reading/column_names.hpp"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mcsim {
namespace {

using Words = std::vector<std::string>;

bool is_upper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }
bool is_lower(char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); }

// "StartSector_in-blocks2" has the words start, sector, in and blocks.
Words words_of(std::string_view name) {
  Words words{""};
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_letter = is_upper(name[i]) || is_lower(name[i]);
    const bool begins = is_letter && i > 0 && is_upper(name[i]) && is_lower(name[i - 1]);
    if ((begins || !is_letter) && !words.back().empty()) words.emplace_back();
    if (is_letter) words.back() += absl::ascii_tolower(static_cast<unsigned char>(name[i]));
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

template <class... Known>
bool is_one_of(std::string_view word, Known... known) {
  return ((word == known) || ...);
}

bool contains(std::string_view word, std::string_view part) {
  return word.find(part) != std::string_view::npos;
}

bool suggests_sectors(std::string_view word) {
  return contains(word, "sector") || is_one_of(word, "sect", "sects", "nsect", "nsects", "nlb") ||
         word.starts_with("lba") || word.starts_with("lbn") || word.ends_with("lba") ||
         word.ends_with("lbn");
}

bool suggests_blocks(std::string_view word) {
  return contains(word, "block") || contains(word, "blk") || is_one_of(word, "page", "pages");
}

bool suggests_ids(std::string_view word) {
  return contains(word, "object") ||
         is_one_of(word, "key", "keys", "id", "ids", "obj", "objid", "hash", "uuid");
}

bool is_length(std::string_view word) {
  return is_one_of(word, "size", "sz", "bytes", "nbytes", "len", "length", "sectors");
}

// "size", "request_size" or "size_in_bytes".
bool suggests_length(const Words& words) {
  if (words.empty()) return false;
  if (is_length(words.back())) return true;
  std::size_t last = words.size() - 1;
  if (!is_one_of(words[last], "bytes", "b", "sectors", "blocks")) return false;
  if (last > 0 && words[last - 1] == "in") --last;
  return last > 0 && is_length(words[last - 1]);
}

}  // namespace

absl::Status check_bytes(std::string_view field, std::string_view column) {
  const Words words = words_of(column);
  const auto any = [&](auto suggests) { return std::ranges::any_of(words, suggests); };
  if (any([](std::string_view word) { return is_one_of(word, "bytes", "byte", "b"); })) {
    return absl::OkStatus();
  }
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    return invalid_argument(
        "{}_unit: state it: column '{}' may {} ({}; {}_unit: bytes if it "
        "counts bytes)",
        field, column, what, remedy, field);
  };
  const std::string unit = std::string(field) + "_unit: ";
  if (any(suggests_sectors)) return refuse("count sectors of 512 bytes", unit + "sectors");
  if (any(suggests_blocks)) return refuse("count blocks", unit + "blocks");
  if (field == "offset" && any(suggests_ids)) {
    return refuse("hold ids of objects", "key in place of offset");
  }
  return absl::OkStatus();
}

absl::Status check_no_length(std::span<const std::string> unused) {
  for (const std::string& name : unused) {
    if (!suggests_length(words_of(name))) continue;
    return invalid_argument(
        "length: state its column: '{}' may be it, and without one every request is of one block "
        "(length: {}; length: none if there is none)",
        name, name);
  }
  return absl::OkStatus();
}

absl::Status check_no_time(std::span<const std::string> unused) {
  for (const std::string& name : unused) {
    const Words words = words_of(name);
    const bool is_time = std::ranges::any_of(words, [](std::string_view word) {
      return is_one_of(word, "timestamp", "ts", "datetime", "arrival");
    });
    if (!is_time) continue;
    return invalid_argument(
        "time: state its column: '{}' may be it, and without one requests are numbered (time: {}; "
        "time: none if there is none)",
        name, name);
  }
  return absl::OkStatus();
}

absl::Status check_no_operation(std::span<const std::string> unused) {
  for (const std::string& name : unused) {
    const Words words = words_of(name);
    if (words.empty() ||
        !is_one_of(words.back(), "op", "opcode", "operation", "rw", "rwbs", "iotype", "optype")) {
      continue;
    }
    return invalid_argument(
        "op: state its column: '{}' may be it, and without one every request is a read (op: {}; "
        "op: none if all are reads)",
        name, name);
  }
  return absl::OkStatus();
}

}  // namespace mcsim
