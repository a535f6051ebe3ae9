"""The language kernels are written in: expressions over statistics of a pair, their values, programs and text."""
