#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mcsim {

// Reads bytes nobody vouches for as a trace file: the first chooses format and
// options, the rest is the file. Returns what was broken of
//
//   - reading ends, in an error that has a message or after requests;
//   - every request has a known VM and operation, and stays within 64 bits;
//   - times do not go back unless that was allowed;
//
// or "" if all held.
std::string read_untrusted(std::span<const std::uint8_t> input);

// Valid inputs of every format that has one, plain and compressed, to start mutations from.
std::vector<std::vector<std::uint8_t>> fuzzing_seeds();

}  // namespace mcsim
