"""Print the requirements of one optional dependency group of pyproject.toml, one a line."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
print("\n".join(project["optional-dependencies"][sys.argv[1]]))
