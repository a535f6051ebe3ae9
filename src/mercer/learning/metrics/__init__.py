"""Learned metrics: M of the distance √((x − z)ᵀM(x − z)) that a kernel sees."""
