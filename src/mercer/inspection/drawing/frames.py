"""Pictures that follow each other, in one file: a GIF, or a page with a slider that needs nothing from elsewhere."""

from __future__ import annotations

import base64
import html
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.files import check_free, replacing
from mercer.needs import load_package

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".gif", ".html")
REST = 4  # times as long as the others the last picture of a GIF stays
APART = 8  # of 256 levels that colours differ at least
MOST_FRAMES = 60  # of a default; more are a large file and a long wait

# No script, style, font or picture is loaded: all is in the page.
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
body {{ margin: 0; padding: 16px; font: 15px/1.4 system-ui, sans-serif; color: #222; background: #fff; }}
main {{ max-width: {width}px; margin: 0 auto; }} h1 {{ font-size: 18px; margin: 0 0 8px; }}
img {{ display: block; width: 100%; height: auto; }}
form {{ display: flex; gap: 8px; align-items: center; margin-top: 8px; }} input {{ flex: 1; min-width: 60px; }}
button {{ font: inherit; min-width: 44px; min-height: 36px; border: 1px solid #999; border-radius: 6px;
  background: #f4f4f4; color: #222; }}
:focus-visible {{ outline: 3px solid #0072B2; outline-offset: 1px; }}
</style></head><body><main><h1>{title}</h1>
<img id="picture" alt="{first}" src="{source}">
<form onsubmit="return false"><button type="button" id="back" aria-label="one back">‹</button>
<button type="button" id="play">Play</button><button type="button" id="on" aria-label="one on">›</button>
<input type="range" id="place" min="0" max="{last}" value="0" aria-label="picture"></form>
<p id="caption" aria-live="polite">{first}</p>
</main><script>
const frames = {frames}, captions = {captions}, pause = {pause};
const find = (id) => document.getElementById(id), place = find("place");
let clock = null;
function show(i) {{
  i = Math.max(0, Math.min(frames.length - 1, i));
  place.value = i; find("picture").src = frames[i];
  find("picture").alt = captions[i]; find("caption").textContent = captions[i];
}}
function stop() {{ clearInterval(clock); clock = null; find("play").textContent = "Play"; }}
function step(by) {{ stop(); show(Number(place.value) + by); }}
function play() {{
  if (clock !== null) {{ stop(); return; }}
  if (Number(place.value) === frames.length - 1) show(0);
  find("play").textContent = "Pause";
  clock = setInterval(() => {{
    show(Number(place.value) + 1);
    if (Number(place.value) === frames.length - 1) stop();
  }}, pause);
}}
find("play").onclick = play; find("back").onclick = () => step(-1); find("on").onclick = () => step(1);
place.oninput = () => {{ stop(); show(Number(place.value)); }};
</script></body></html>
"""


def check_target(owner: str, path: str | Path, overwrite: bool) -> Path:
    """Return where to write, or say what is wrong with it before anything is drawn."""
    target = Path(path)
    target = target.resolve() if target.is_symlink() else target
    if target.suffix.lower() not in ENDINGS:
        raise ValueError(f"{owner}: the name of the file must end in .gif or .html; got {str(path)!r}")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{owner}: there is no folder {str(target.parent)!r} to write {target.name!r} to")
    check_free(target, overwrite)
    return target


def write_frames(
    target: Path, figure: Figure, draw: Callable[[Any], str], frames: Iterable[Any], seconds: float, title: str
) -> None:
    """Draw each frame on a figure and write all of them to one file, whole or not at all.

    ``draw`` clears the figure, draws a frame and returns its caption.
    """
    pictures, captions = [], []
    for frame in frames:
        captions.append(draw(frame))
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=100)
        pictures.append(buffer.getvalue())
    with replacing(target) as temporary:
        if target.suffix.lower() == ".gif":
            _write_gif(temporary, pictures, seconds)
        else:
            temporary.write_text(_write_page(pictures, captions, seconds, title, figure), encoding="utf-8")


def _write_gif(path: Path, pictures: list[bytes], seconds: float) -> None:
    image = load_package("PIL.Image", "a GIF")
    whole = [image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    table = image.new("P", (1, 1))
    table.putpalette(_choose_colours(whole).ravel().tolist())
    frames = [picture.quantize(palette=table, dither=image.Dither.NONE) for picture in whole]
    pause = round(1000 * seconds)
    pauses = [pause] * (len(frames) - 1) + [REST * pause]
    frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=pauses, loop=0)


def _choose_colours(pictures: list[Any]) -> np.ndarray:
    """Return one table of colours for all frames, or they would flicker: the most frequent as they are, with white.

    Those next to one that is there already are left out, since Pillow takes one for the other.
    """
    counts: Counter[tuple[int, int, int]] = Counter()
    for picture in pictures:
        counts.update({colour: count for count, colour in picture.getcolors(picture.width * picture.height)})
    left = np.array([colour for colour, _ in counts.most_common()])
    chosen: list[np.ndarray] = []
    while len(left) and len(chosen) < 256:
        chosen.append(left[0])
        left = left[np.abs(left - left[0]).max(axis=1) >= APART]
    return np.array(chosen)


def _write_page(pictures: list[bytes], captions: list[str], seconds: float, title: str, figure: Figure) -> str:
    sources = ["data:image/png;base64," + base64.b64encode(picture).decode("ascii") for picture in pictures]
    return PAGE.format(
        title=html.escape(title), width=round(100 * figure.get_figwidth()), first=html.escape(captions[0]),
        source=sources[0], last=len(sources) - 1, frames=_write_script(sources), captions=_write_script(captions),
        pause=round(1000 * seconds),
    )  # fmt: skip


def _write_script(values: list[str]) -> str:
    return json.dumps(values, ensure_ascii=False).replace("<", "\\u003c")  # or a label could end the script
