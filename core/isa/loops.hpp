#pragma once

// All that core/isa/loops.inl needs, compiled for any processor.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "core/base/isa.hpp"
#include "core/base/random.hpp"
#include "core/base/wraps.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/live_slots.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/locality/distances/distance_state.hpp"
#include "core/locality/distances/parallel_loops.hpp"
#include "core/locality/distances/reuse_distance.hpp"
