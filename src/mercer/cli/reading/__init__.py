"""Tables from files of many kinds: bytes become text, text becomes a frame, and rows keep their places in the file."""
