"""What displays share: a figure to draw on, its look, and what they ask of estimators and tables."""
