"""What estimators share: checks of rows, kernels and targets, progress, and fits that change everything or nothing."""
