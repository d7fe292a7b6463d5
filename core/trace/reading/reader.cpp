#include "core/trace/reading/reader.hpp"

#include <algorithm>
#include <array>

#include "core/base/guarded.hpp"
#include "core/base/quoted_for_message.hpp"

namespace mcsim {

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
  const absl::Status filled = fill(chunk);
  set_ids(chunk);
  MCSIM_RETURN_IF_ERROR(filled);
  requests_ += static_cast<Count>(chunk.size());
  if (requests_ > 0) return absl::OkStatus();
  is_empty_ = rows_.skipped == 0;
  std::string why;
  if (rows_.skipped > 0) why += fmt::format(" ({} unreadable rows skipped)", rows_.skipped);
  if (rows_.filtered > 0) why += fmt::format(" ({} rows filtered)", rows_.filtered);
  if (!other_events_.empty()) why += fmt::format("; event={} reads others", other_events_[0]);
  const std::string prefix = context_.name.empty() ? "" : context_.name + ": ";
  const std::string text = fmt::format("{}there are no requests in it{}", prefix, why);
  // A caller with several files may leave out an empty one.
  return is_empty_ ? absl::AbortedError(text) : absl::DataLossError(text);
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

std::string vm_name_of(std::string_view path) {
  const std::string_view file = path.substr(path.find_last_of('/') + 1);
  const std::string_view name = file.substr(0, file.find('.', 1));
  return is_vm_name(name) ? std::string(name) : quoted_for_message(name);
}

}  // namespace mcsim
