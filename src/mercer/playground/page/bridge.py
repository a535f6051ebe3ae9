"""What the page and Python tell each other: requests in, parts of the page out, each as JSON."""

from __future__ import annotations

import json
from typing import Any

from bokeh.core.properties import String
from bokeh.model import DataModel


class Bridge(DataModel):  # type: ignore[misc]
    """Two texts that Bokeh keeps equal in the browser and here."""

    request = String(default="")
    reply = String(default="")
    _serial = 0

    def tell(self, **parts: Any) -> None:
        """Send parts of the page by name; a serial number makes every reply a new one."""
        self._serial += 1
        self.reply = json.dumps({"serial": self._serial, "parts": parts}, ensure_ascii=False, allow_nan=False)
