#include "core/trace/reading/record_reader.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

namespace mcsim {
namespace {

// The objects that occur again in some requests.
struct Repeats {
  std::size_t all = 0;
  std::size_t same_size = 0;
};

Repeats repeats_in(const Requests& requests, std::size_t count) {
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> sizes;
  Repeats repeats;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [size, is_new] = sizes.try_emplace(requests.offset[i], requests.length[i]);
    repeats.all += !is_new;
    repeats.same_size += !is_new && size->second == requests.length[i];
    size->second = requests.length[i];
  }
  return repeats;
}

// The requests that come before or long after the one before them.
struct Jumps {
  std::size_t count = 0;
  std::size_t first = 0;  // position of the first; if there are none, the number of requests
};

Jumps jumps_in(const Requests& requests) {
  constexpr Nanoseconds kLong = 20 * Nanoseconds{365 * 86'400} * kSecond;
  Jumps jumps{.first = requests.size()};
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const Nanoseconds before = requests.time[i - 1];
    const bool is_jump = requests.time[i] < before || requests.time[i] - before > kLong;
    if (is_jump && jumps.count++ == 0) jumps.first = i;
  }
  return jumps;
}

std::string text_of(const Requests& requests, const Jumps& jumps) {
  const std::size_t at = jumps.first;
  return fmt::format("request {}: time jumps from {} to {}", at + 1, requests.time[at - 1],
                     requests.time[at]);
}

// Judges a format in which all bytes could be records. Ordered times and objects that occur again
// are its only signs.
Guess judge_repeats(const RecordTrial& trial, const Requests& requests) {
  constexpr std::size_t kFewest = 4;  // requests, of which sizes may change
  constexpr std::size_t kFew = 8;     // requests in order, or among which one is out of order
  const std::size_t count = requests.size();
  const Jumps jumps = jumps_in(requests);
  const Repeats repeats = repeats_in(requests, count);
  const auto guess = [&](Fit fit, std::string objection) {
    return Guess{trial.format, fit, std::move(objection), jumps.first};
  };
  if (count * 4 < trial.records * 3) return guess(Fit::kNo, "most records have no size");
  if (trial.status.ok() && jumps.count == 0) {
    const bool is_clocked = requests.time.front() < requests.time.back();
    if (!is_clocked || repeats.all == 0) {
      return guess(Fit::kNo, "no object of the first records occurs again: state the format");
    }
    if (repeats.same_size * 2 > repeats.all) {
      Guess ordered = guess(Fit::kPossible, "");
      ordered.needs_order = true;
      return ordered;
    }
    const Fit fit = count >= kFewest ? Fit::kUncertain : Fit::kNo;
    return guess(fit, "its objects change their sizes");
  }
  const bool is_one_off = trial.status.ok() && jumps.count == 1 && count >= kFew;
  const bool begins_well = jumps.first >= kFew && jumps.first * 8 >= count &&
                           requests.time.front() < requests.time[jumps.first - 1] &&
                           repeats_in(requests, jumps.first).all > 0;
  const bool is_uncertain = begins_well || (is_one_off && repeats.all > 0);
  return guess(is_uncertain ? Fit::kUncertain : Fit::kNo,
               jumps.count > 0 ? text_of(requests, jumps) : message_of(trial.status));
}

}  // namespace

NextAccesses check_next_accesses(std::string_view head, std::size_t records,
                                 std::size_t record_bytes, const RecordField& id,
                                 const RecordField& next) {
  records = std::min(records, head.size() / record_bytes);
  const auto count = [&](std::uint64_t base) {
    NextAccesses found;
    for (std::size_t i = 0; i < records; ++i) {
      const char* const record = head.data() + i * record_bytes;
      const std::uint64_t there = next.value(record) - base;
      const auto signed_next = static_cast<std::int64_t>(next.value(record));
      if (signed_next == -1 || signed_next == std::numeric_limits<std::int64_t>::max()) {
        ++found.right;
      } else if (there >= records) {
        ++found.beyond;
      } else {
        const bool is_same = id.value(head.data() + there * record_bytes) == id.value(record);
        ++(is_same ? found.right : found.wrong);
      }
    }
    return found;
  };
  const NextAccesses from_0 = count(0);
  const NextAccesses from_1 = count(1);
  return from_1.right > from_0.right ? from_1 : from_0;
}

Guess judge_records(const RecordTrial& trial, const Requests& requests) {
  const std::string objection = trial.status.ok() ? "" : message_of(trial.status);
  if (requests.size() == 0) return {trial.format, Fit::kNo, objection, trial.records};
  if (trial.proof == Proof::kRepeats) return judge_repeats(trial, requests);
  const Jumps jumps = jumps_in(requests);
  const bool is_disorder = trial.proof == Proof::kFields && jumps.count > 0;
  const bool is_ordered = !is_disorder || jumps.count * 4 <= requests.size() + 3;
  const bool has_operations = trial.unstated * 10 <= trial.records;
  bool is_marked = has_operations;
  if (trial.next) {
    const auto& [right, wrong, beyond] = *trial.next;
    const bool has_all = trial.is_whole && trial.status.ok();
    is_marked = is_marked && right > 0 && right >= wrong + (has_all ? beyond : 0);
  }
  if (!trial.status.ok()) {
    const std::size_t enough = trial.next || trial.proof == Proof::kMarks ? 2 : 4;
    const bool begins_well = is_marked && is_ordered && trial.records >= enough;
    return {trial.format, begins_well ? Fit::kPartial : Fit::kNo, objection, trial.records};
  }
  if (is_marked && is_ordered) {
    return {trial.format, trial.records > 1 ? Fit::kCertain : Fit::kPossible, ""};
  }
  if (has_operations && !is_disorder && trial.records > 1) {
    return {trial.format, Fit::kPossible, ""};
  }
  const std::string why = is_disorder      ? text_of(requests, jumps)
                          : has_operations ? "next accesses lie beyond the file"
                                           : "records state no operation";
  const bool is_uncertain = is_marked && jumps.first > 1;
  return {trial.format, is_uncertain ? Fit::kUncertain : Fit::kNo, why, jumps.first};
}

}  // namespace mcsim
