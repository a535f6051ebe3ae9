"""Formulas as people write them: one tree of mathematics, laid out once, written as LaTeX or as MathML."""
