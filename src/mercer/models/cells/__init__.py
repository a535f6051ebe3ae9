"""Support vector machines of many points, in cells."""
