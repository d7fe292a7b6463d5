#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mcsim {

// Reads bytes nobody vouches for: the first chooses what they are taken for, the rest is
// that. Returns what was broken, or "" if all held.
//
// A trace file of any format, with any options:
//   - reading ends, in an error that has a message or after requests;
//   - every request has a VM whose name can be shown, a known operation, and stays within
//     64 bits; times do not go back unless that was allowed;
//   - every format makes a guess about it.
//
// The columns of a store, of any lengths:
//   - they are refused with a message, or they are requests as above, all of them are
//     interned, and what is counted of them agrees with what is counted one by one.
//
// An interned trace, with the checksums that are right for it:
//   - it is refused with a message, or nothing in it points beyond what it holds.
//
// What was measured of a trace, with the checksum that is right for it:
//   - it is refused with a message, or all that is seen of it, period by period, is in bounds.
//
// Partial distances, with the checksum that is right for them:
//   - they are refused with a message, or they give the same bytes again and can be
//     merged.
std::string read_untrusted(std::span<const std::uint8_t> input);

// Valid inputs of every kind, files of every format plain and compressed, to start
// mutations from.
std::vector<std::vector<std::uint8_t>> fuzzing_seeds();

// How many there are of what the first byte chooses among.
std::size_t fuzzing_subjects();

}  // namespace mcsim
