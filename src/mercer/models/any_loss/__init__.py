"""Models of any loss and any growing penalty."""
