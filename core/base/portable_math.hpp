#pragma once

// Elementary functions computed only with IEEE additions, multiplications and divisions, so that
// they give the same bits on every platform, unlike those of the C library. Accurate to a few units
// in the 15th digit. Meant for building tables, not for inner loops.
namespace mcsim {

// x > 0.
double portable_log2(double x);

// |x| < 1000.
double portable_exp2(double x);

// The cosine of an angle counted in full turns.
double portable_cos_turns(double turns);

}  // namespace mcsim
