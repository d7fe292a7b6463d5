#pragma once

// Elementary functions out of IEEE additions, multiplications and divisions
// alone, so that they give the same bits on every platform, which the C
// library's do not. Accurate to a few units in the 15th digit; for building
// tables, not for inner loops.
namespace mcsim {

// x > 0.
double portable_log2(double x);

// |x| < 1000.
double portable_exp2(double x);

// The cosine of an angle counted in full turns.
double portable_cos_turns(double turns);

}  // namespace mcsim
