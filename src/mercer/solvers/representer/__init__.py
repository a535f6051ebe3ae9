"""Theorem 1 as a program: argmin over f of Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + Ω(‖f‖), for any loss and any growing penalty."""
