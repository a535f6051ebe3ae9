"""The dual problems of support vector machines, and sequential minimal optimisation."""
