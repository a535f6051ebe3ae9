"""Newton's method in the space of a kernel: logistic regression and import vectors."""
