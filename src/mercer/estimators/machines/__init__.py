"""What the support vector machines share."""
