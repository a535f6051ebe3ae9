"""Pictures of samples and of what tests say about them."""
