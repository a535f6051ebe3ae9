"""Files that commands read models from and write results to."""
