#include "core/trace/interning/accesses_file.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/guarded.hpp"
#include "core/trace/interning/accesses_layout.hpp"
#include "core/trace/interning/accesses_sink.hpp"
#include "core/trace/interning/packed_file.hpp"

namespace mcsim {
namespace {

using interning::Sums;

// Requests, or accesses, between two releases of pages.
constexpr std::size_t kPiece = std::size_t{1} << 20;

// Whether a range is large enough to release its pages.
bool is_piece(const Accesses& trace, RequestRange range) {
  return range.end - range.begin >= kPiece ||
         trace.request_begin[range.end] - trace.request_begin[range.begin] >= kPiece;
}

// The counts of a VM as found in the columns, and its departure.
struct Found {
  Count requests = 0;
  Count accesses = 0;
  std::size_t departs = 0;  // before this request
};

std::string wrong_in_departures(const Accesses& trace, std::vector<Found>& found) {
  std::size_t last = trace.warm_up;
  for (const auto& [request, vm] : trace.departures) {
    if (request < last) return "departures that are not in order";
    if (found[vm].departs != trace.request_count()) return "a VM that departs twice";
    found[vm].departs = last = request;
  }
  return "";
}

std::string_view wrong_in_request(const Accesses& trace, std::size_t r, std::vector<Found>& found) {
  const std::uint64_t begin = trace.request_begin[r];
  const std::uint64_t end = trace.request_begin[r + 1];
  if (begin > end || end > trace.ids.size()) return "has blocks that are not there";
  if (r > 0 && trace.request_time[r] < trace.request_time[r - 1]) return "is before the last one";
  if (trace.request_op[r] > 1) return "is neither a read nor a write";
  if (trace.request_vm[r] >= trace.vms.size()) return "is of no VM";
  if (trace.keeps_responses && trace.request_response[r] < -1) return "took less than no time";
  if (trace.keeps_classes && trace.request_class[r] >= kMostClasses) return "is of no class";
  Found& of_vm = found[trace.request_vm[r]];
  if (r >= of_vm.departs) return "is of a VM that is gone";
  const VmInfo& vm = trace.vms[trace.request_vm[r]];
  if (trace.request_time[r] < vm.arrives) return "is of a VM that has not arrived";
  bool outside = false;
  for (std::uint64_t i = begin; i < end; ++i) {
    outside |= trace.ids[i] - vm.first_id >= static_cast<std::uint64_t>(vm.unique_blocks);
  }
  if (outside) return "has blocks of another VM, or of none";
  if (r >= trace.warm_up) {
    ++of_vm.requests;
    of_vm.accesses += static_cast<Count>(end - begin);
  }
  return "";
}

std::string wrong_in_columns(const Accesses& trace) {
  std::vector<Found> found(trace.vms.size(), {.departs = trace.request_count()});
  if (const std::string wrong = wrong_in_departures(trace, found); !wrong.empty()) return wrong;
  if (!std::ranges::is_sorted(trace.discards, {}, &Discard::request)) {
    return "discards that are not in order";
  }
  if (trace.request_begin[0] != 0) return "blocks of no request";
  std::size_t passed = 0;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    const std::string_view wrong = wrong_in_request(trace, r, found);
    if (!wrong.empty()) return fmt::format("request {} {}", r, wrong);
    if (is_piece(trace, {passed, r})) trace.release_pages({std::exchange(passed, r), r});
  }
  if (trace.request_begin[trace.request_count()] != trace.ids.size()) return "blocks of no request";
  trace.release_pages({passed, trace.request_count()});
  for (std::size_t v = 0; v < found.size(); ++v) {
    const VmInfo& vm = trace.vms[v];
    if (vm.requests != found[v].requests || vm.accesses != found[v].accesses) {
      return fmt::format("{} has other counts than its head says", vm.name);
    }
  }
  return "";
}

absl::Status check(const Accesses& trace, const Sums& sums, std::string_view name) {
  const bool is_whole = interning::sums_of(trace) == sums;
  const std::string wrong = is_whole ? wrong_in_columns(trace) : "a checksum does not match";
  if (wrong.empty()) return absl::OkStatus();
  return data_loss("{}: a damaged interned trace ({}); remove it and mcsim will rebuild it", name,
                   wrong);
}

// Views of a file, or of the image in memory of one that is packed.
absl::StatusOr<Accesses> view_of(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner, std::string_view name,
                                 Sums& sums) {
  if (!interning::is_packed(bytes)) return interning::view_of(bytes, owner, name, sums);
  MCSIM_ASSIGN_OR_RETURN(Pages<std::byte> image, interning::unpack_image(bytes, name));
  const auto kept = std::make_shared<const Pages<std::byte>>(std::move(image));
  return interning::view_of({kept->data(), kept->size()}, kept, name, sums);
}

}  // namespace

absl::Status write_accesses(const Accesses& trace, const std::string& path) {
  return guarded(path, [&]() -> absl::Status {
    Accesses head = trace;
    MCSIM_ASSIGN_OR_RETURN(
        AccessesSink sink,
        AccessesSink::to_file(std::move(head), trace.request_count(), trace.ids.size(), path));
    std::size_t passed = 0;
    for (std::size_t r = 0; r < trace.request_count(); ++r) {
      for (const BlockId id : trace.blocks_of(r)) sink.push_block(id);
      if (trace.keeps_responses) sink.push_response(trace.request_response[r]);
      if (trace.keeps_classes) sink.push_class(trace.request_class[r]);
      if (trace.keeps_bytes) sink.push_bytes(trace.request_bytes[r], trace.request_head[r]);
      sink.push_request(trace.request_time[r], trace.request_vm[r], trace.request_op[r]);
      if (!is_piece(trace, {passed, r})) continue;
      trace.release_pages({std::exchange(passed, r), r});
      MCSIM_RETURN_IF_ERROR(sink.status());
    }
    for (const std::uint64_t address : trace.block_address) sink.push_address(address);
    return std::move(sink).finish().status();
  });
}

absl::Status write_packed_accesses(const Accesses& trace, const std::string& path) {
  return guarded(path, [&] { return interning::write_packed(trace, path); });
}

absl::StatusOr<Accesses> accesses_in(std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> owner, std::string_view name) {
  return guarded(name, [&]() -> absl::StatusOr<Accesses> {
    Sums sums;
    MCSIM_ASSIGN_OR_RETURN(const Accesses trace, view_of(bytes, owner, name, sums));
    MCSIM_RETURN_IF_ERROR(check(trace, sums, name));
    return trace;
  });
}

absl::StatusOr<Accesses> open_trusted_accesses(const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<Accesses> {
    MCSIM_ASSIGN_OR_RETURN(const auto mapping, map_file(path));
    Sums sums;
    return view_of(mapping->bytes(), mapping, path, sums);
  });
}

absl::StatusOr<Accesses> open_accesses(const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<Accesses> {
    MCSIM_ASSIGN_OR_RETURN(const auto mapping, map_file(path));
    return accesses_in(mapping->bytes(), mapping, path);
  });
}

absl::StatusOr<AccessesHead> describe_accesses(const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<AccessesHead> {
    MCSIM_ASSIGN_OR_RETURN(const auto mapping, map_file(path));
    const auto bytes = mapping->bytes();
    MCSIM_ASSIGN_OR_RETURN(
        const interning::FileHead head,
        interning::head_in(interning::is_packed(bytes) ? interning::image_in(bytes) : bytes, path));
    return AccessesHead{head.accesses, head.trace.vms.size(), head.trace.block_bytes};
  });
}

}  // namespace mcsim
