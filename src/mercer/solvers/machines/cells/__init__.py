"""Support vector machines of many points: space is cut into cells with machines of their own, blended at borders."""
