#include "policies/hosts/dm_cache_dump.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/base/choices.hpp"
#include "core/base/wraps.hpp"
#include "policies/hosts/dm_cache_host.hpp"

namespace mcsim {
namespace {

constexpr std::uint32_t kLastLevel = LevelQueue::kLevels - 1;
constexpr Count kSectorBytes = 512;

absl::Status check_cache(const CacheDump& dump, const Accesses& trace, const DumpTarget& target) {
  if (trace.vms.size() != 1) {
    return invalid_argument("cache_dump: the origin is one device, and the trace has {} VMs",
                            trace.vms.size());
  }
  if (!trace.keeps_addresses) return invalid_argument("cache_dump: the trace has no addresses");
  const Count line_bytes = Count{trace.block_bytes} * trace.line_blocks;
  if (dump.block_bytes != line_bytes) {
    return invalid_argument("{}:{}: block_size: {} sectors are {} KiB, and block_kib is {}",
                            dump.file, dump.text_line, dump.block_bytes / kSectorBytes,
                            dump.block_bytes / 1024, line_bytes / 1024);
  }
  if (dump.cache_blocks <= static_cast<Count>(target.entries)) return absl::OkStatus();
  return invalid_argument("{}:{}: nr_cache_blocks: {} do not fit in a cache of {} blocks",
                          dump.file, dump.text_line, dump.cache_blocks, target.entries);
}

absl::Status check_mapping(const CacheDump& dump, const CacheDump::Mapping& of,
                           const DumpTarget& target) {
  if (of.cache_block >= dump.cache_blocks) {
    return invalid_argument("{}:{}: cache_block {} is outside of {} blocks", dump.file,
                            of.text_line, of.cache_block, dump.cache_blocks);
  }
  if (target.origin_lines != 0 && of.origin_block >= target.origin_lines) {
    return invalid_argument("{}:{}: origin_block {} is outside of an origin of {} blocks",
                            dump.file, of.text_line, of.origin_block, target.origin_lines);
  }
  if (!of.is_dirty || target.may_be_dirty) return absl::OkStatus();
  return invalid_argument("{}:{}: dirty: mode passthrough starts with clean blocks only", dump.file,
                          of.text_line);
}

}  // namespace

MCSIM_WRAPS std::uint8_t unhinted_level(std::uint32_t cache_block) {
  return static_cast<std::uint8_t>((cache_block * 0x61C88647U) >> 23 & kLastLevel);
}

absl::StatusOr<DumpedLines> lines_of_dump(const CacheDump& dump, const Accesses& trace,
                                          const DumpTarget& target) {
  MCSIM_RETURN_IF_ERROR(check_cache(dump, trace, target));
  const absl::StatusOr<DmCachePolicy> policy = choice_named<DmCachePolicy>("policy", dump.policy);
  const bool uses_hints = dump.has_hints && policy.ok() && *policy == target.policy;
  std::unordered_map<std::uint64_t, std::uint32_t> line_after;
  for (std::size_t line = 0; line < target.line_numbers.size(); ++line) {
    line_after.emplace(target.line_numbers[line], static_cast<std::uint32_t>(line));
  }
  DumpedLines lines;
  for (const CacheDump::Mapping& of : dump.mappings) {
    MCSIM_RETURN_IF_ERROR(check_mapping(dump, of, target));
    const auto [found, is_new] =
        line_after.try_emplace(of.origin_block, static_cast<std::uint32_t>(line_after.size()));
    lines.unaccessed += is_new ? 1 : 0;
    const std::uint8_t level = uses_hints ? static_cast<std::uint8_t>(std::min(of.hint, kLastLevel))
                                          : unhinted_level(of.cache_block);
    lines.mappings.push_back(
        {.entry = of.cache_block, .line = found->second, .is_dirty = of.is_dirty, .level = level});
  }
  return lines;
}

}  // namespace mcsim
